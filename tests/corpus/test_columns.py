"""Guesses of the columns of texts and labels: made-up headers, and the errors for unclear ones."""

import csv
import random

import pytest

import wordclass as wc
from wordclass.corpus.columns import UnclearColumnsError
from wordclass.corpus.reader import CorpusReader
from wordclass.corpus.selection import ColumnGuessWarning, ReadOptions

RANDOM = random.Random(0)
TOPIC_WORDS = "moon orbit rocket planet rose soil seed garden song chord piano drum"
WORDS = tuple(TOPIC_WORDS.split())
TOPICS = ["space", "garden", "music"]


def words(n_words):
    return lambda k: " ".join(RANDOM.choices(WORDS, k=n_words))


def one_of(*values):
    return lambda k: RANDOM.choice(values)


def number(k):
    return k


def topic_number(k):
    return k % 3


def topic_name(k):
    return TOPICS[k % 3]


LONG = words(40)
TEXT = words(12)
SHORT = words(4)
TOPIC = one_of(*TOPICS)
FLAG = one_of(0, 1)

# header: the columns, the texts and the labels that are chosen
SAFE = {
    "tweet,class": ([TEXT, TOPIC], ["tweet"], ["class"]),
    "id,Tweet,Label": ([number, TEXT, TOPIC], ["Tweet"], ["Label"]),
    "review,sentiment": ([LONG, one_of("positive", "negative")], ["review"], ["sentiment"]),
    "text,intent": ([SHORT, TOPIC], ["text"], ["intent"]),
    "utterance,intent": ([SHORT, TOPIC], ["utterance"], ["intent"]),
    "message,category": ([TEXT, TOPIC], ["message"], ["category"]),
    "Category,Message": ([one_of("ham", "spam"), TEXT], ["Message"], ["Category"]),
    "v1,v2": ([one_of("ham", "spam"), TEXT], ["v2"], ["v1"]),
    "title,body,tag": ([SHORT, LONG, TOPIC], ["title", "body"], ["tag"]),
    "Title,Description,Class Index": (
        [SHORT, LONG, one_of(1, 2, 3)], ["Title", "Description"], ["Class Index"]
    ),
    "headline,category,short_description,date": (
        [SHORT, TOPIC, TEXT, lambda k: f"2020-01-{k % 28 + 1:02}"],
        ["headline", "short_description"],
        ["category"],
    ),
    "qid,question,target": ([number, SHORT, FLAG], ["question"], ["target"]),
    "id,comment_text,toxic,severe_toxic,obscene": (
        [number, TEXT, FLAG, FLAG, FLAG], ["comment_text"], ["toxic", "severe_toxic", "obscene"]
    ),
    "text,joy,anger,fear,rater_id": (
        [TEXT, FLAG, FLAG, FLAG, topic_number], ["text"], ["joy", "anger", "fear"]
    ),
    "text,topic_id,topic_name": ([TEXT, topic_number, topic_name], ["text"], ["topic_name"]),
    "tweet_id,airline_sentiment,airline,text": (
        [number, one_of("good", "bad"), one_of("a", "b"), TEXT], ["text"], ["airline_sentiment"]
    ),
    "sentence,polarity": ([TEXT, one_of(0, 1, 2)], ["sentence"], ["polarity"]),
    "content,emotion": ([TEXT, TOPIC], ["content"], ["emotion"]),
    "abstract,topics": ([LONG, one_of("a;b", "b", "a")], ["abstract"], ["topics"]),
    "Consumer complaint narrative,Product": (
        [LONG, TOPIC], ["Consumer complaint narrative"], ["Product"]
    ),
    "post,subreddit": ([TEXT, TOPIC], ["post"], ["subreddit"]),
    "document,department,id": ([TEXT, TOPIC, number], ["document"], ["department"]),
    "Unnamed: 0,lyrics,genre": ([number, LONG, TOPIC], ["lyrics"], ["genre"]),
    "texte,etiquette": ([TEXT, TOPIC], ["texte"], ["etiquette"]),
    "name,description,type": ([lambda k: f"name {k}", LONG, TOPIC], ["description"], ["type"]),
    "a,b": ([TEXT, TOPIC], ["a"], ["b"]),
    "category,subcategory,text": ([TOPIC, one_of(*"wxyz"), TEXT], ["text"], ["category"]),
    "reviewText,overall": ([LONG, one_of(1, 2, 3, 4, 5)], ["reviewText"], ["overall"]),
    "Question,Answer Type": ([SHORT, one_of("yes", "no")], ["Question"], ["Answer Type"]),
    "subject,email,folder": ([SHORT, LONG, TOPIC], ["subject", "email"], ["folder"]),
}  # fmt: skip
UNCLEAR = {
    "left,right,same": (
        [TEXT, TEXT, FLAG], "hold the texts;", ["--text-field", "left", "--label-field", "same"]
    ),
    "text,color,shape": (
        [TEXT, one_of(*"rgb"), one_of(*"xyz")], "hold the labels;", ["--label-field", "color"]
    ),
    "3,the bears are back in the black market today": (
        [one_of(1, 2, 3), TEXT],
        "the first line looks like data",
        ["--no-header", "--text-field", "2", "--label-field", "1"],
    ),
}  # fmt: skip


def write_table(path, header, columns, n_rows=60):
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(header.split(","))
        table.writerows([column(k) for column in columns] for k in range(n_rows))
    return path


@pytest.mark.parametrize("header", SAFE)
def test_columns_are_guessed_and_reported_in_one_line(tmp_path, header):
    columns, texts, labels = SAFE[header]
    path = write_table(tmp_path / "docs.csv", header, columns)
    reader = CorpusReader(path)
    with pytest.warns(ColumnGuessWarning) as warnings:
        corpus = reader.read()
    assert (reader.guess.text_field, reader.guess.label_field) == (texts, labels)
    assert len(corpus) == 60
    (message,) = [str(warning.message) for warning in warnings]
    assert "\n" not in message
    assert all(repr(name) in message for name in [*texts, *labels])


@pytest.mark.parametrize("header", UNCLEAR)
def test_unclear_columns_are_an_error_with_options(tmp_path, header):
    columns, problem, options = UNCLEAR[header]
    path = write_table(tmp_path / "docs.csv", header, columns)
    with pytest.raises(UnclearColumnsError, match=problem) as caught:
        wc.read_corpus(path)
    assert caught.value.options == options


def test_named_columns_are_not_guessed(tmp_path):
    path = write_table(tmp_path / "docs.csv", "tweet,class,mood", [TEXT, TOPIC, TOPIC])
    with pytest.warns(ColumnGuessWarning, match="texts from column 'tweet', labels from .* 'mood'"):
        assert len(wc.read_corpus(path, label_field="mood")) == 60
    with pytest.raises(wc.FormatError, match="no field 'nothing'; there are: 'tweet', 'class'"):
        wc.read_corpus(path, text_field="nothing")
    assert len(wc.read_corpus(path, text_field="tweet", label_field="mood")) == 60


@pytest.mark.parametrize("ending", ["jsonl", "parquet", "tsv", "xlsx"])
def test_columns_of_all_formats_are_guessed(tmp_path, ending):
    import polars as pl

    path = tmp_path / f"docs.{ending}"
    frame = pl.DataFrame({"tweet": [TEXT(k) for k in range(30)], "mood": ["good", "bad"] * 15})
    if ending == "jsonl":
        frame.write_ndjson(path)
    elif ending == "parquet":
        frame.write_parquet(path)
    elif ending == "tsv":
        frame.write_csv(path, separator="\t")
    else:
        import openpyxl

        book = openpyxl.Workbook()
        for row in [frame.columns, *frame.rows()]:
            book.active.append(list(row))
        book.save(path)
    with pytest.warns(ColumnGuessWarning, match="column 'tweet', labels from column 'mood'"):
        assert wc.read_corpus(path).labels == ["good", "bad"] * 15


def test_shards_use_the_columns_of_the_first_one(tmp_path):
    for name in ("a.csv", "b.csv"):
        write_table(tmp_path / name, "tweet,class", [TEXT, TOPIC])
    with pytest.warns(ColumnGuessWarning, match="column 'tweet', labels from column 'class'"):
        corpus = wc.ShardedCorpus.of(tmp_path)
    assert corpus.guess.text_field == ["tweet"]
    assert len(corpus.read()) == 120


def test_unclear_labels_matter_only_if_labels_are_read(tmp_path):
    columns = [TEXT, one_of(*"rgb"), one_of(*"xyz")]
    write_table(tmp_path / "a.csv", "text,color,shape", columns)
    corpus = wc.ShardedCorpus.of(tmp_path)
    with pytest.raises(UnclearColumnsError):
        corpus.read()
    reader = CorpusReader(tmp_path / "a.csv", ReadOptions())
    assert sum(len(block) for block in reader.records()) == 60
