"""GoEmotions as two tasks of different texts: sentiment, and the emotions that may help it.

Of the training texts a third, chosen by a hash of the text, has the 28 emotions as classes: the
source. Of all others, those whose emotions are all positive, or all negative, have these two: the
target. No text of the target is one of the source, and no test text is one of either.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from wordclass.corpus.documents import Dataset, LabelledCorpus
from wordclass.corpus.splits import Holdout

# as its authors grouped them; confusion, curiosity, realization and surprise are ambiguous
_GROUPS = {
    "negative": (
        "anger annoyance disappointment disapproval disgust embarrassment fear grief nervousness "
        "remorse sadness"
    ),
    "positive": (
        "admiration amusement approval caring desire excitement gratitude joy love optimism pride "
        "relief"
    ),
}
_SENTIMENTS: Mapping[Any, str] = {
    emotion: group for group, emotions in _GROUPS.items() for emotion in emotions.split()
}
# so that 5,000 negative texts are left for the target
_SOURCE = Holdout(1 / 3)


def source_of(whole: Dataset) -> Dataset:
    """Return the source: the emotions of a third of the training texts; the test part as it is."""
    train = whole.train.part(_SOURCE.contains(whole.train.texts))
    return Dataset(whole.name, _without(train, whole.test.texts), whole.test, whole.classes)


def target_of(whole: Dataset) -> Dataset:
    """Return the target: whether other texts are positive or negative, and none that are both."""
    train = whole.train.part(~_SOURCE.contains(whole.train.texts))
    train = _without(train, whole.test.texts)
    return Dataset(whole.name, _sentiments(train), _sentiments(whole.test), [*_GROUPS])


def _without(corpus: LabelledCorpus, texts: Sequence[str]) -> LabelledCorpus:
    left_out = {*texts}
    return corpus.part(text not in left_out for text in corpus.texts)


def _sentiments(corpus: LabelledCorpus) -> LabelledCorpus:
    """Return the texts that have one sentiment, with it as their label."""
    texts, labels = list[str](), list[Any]()
    for text, own in zip(corpus.texts, corpus.labels, strict=True):
        emotions = own if isinstance(own, list) else [own]
        sentiments = {_SENTIMENTS.get(emotion) for emotion in emotions}
        if len(sentiments) == 1 and None not in sentiments:
            texts.append(text)
            labels += sentiments
    return LabelledCorpus(texts, labels, is_multilabel=False)
