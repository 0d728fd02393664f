"""GoEmotions as two tasks of different texts: sentiment, and the emotions that may help it.

A third of the training texts, chosen by a hash of the text, keeps the 28 emotions as classes: the
source task. The other training texts whose emotions are all positive, or all negative, have these
two classes: the target task. The tasks share no text, and no test text is in either.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from wordclass.corpus.documents import Dataset, LabelledCorpus
from wordclass.corpus.splits import Holdout

# the groups of its authors; confusion, curiosity, realization and surprise are ambiguous
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
# a third leaves 5,000 negative texts for the target
_SOURCE = Holdout(1 / 3)


def select_source(complete: Dataset) -> Dataset:
    """Return the source task: a third of the training texts with their emotions."""
    train = complete.train.part(_SOURCE.contains(complete.train.texts))
    return Dataset(
        complete.name, _without(train, complete.test.texts), complete.test, complete.classes
    )


def select_target(complete: Dataset) -> Dataset:
    """Return the target task: the other texts with a clear sentiment, positive or negative."""
    train = complete.train.part(~_SOURCE.contains(complete.train.texts))
    train = _without(train, complete.test.texts)
    return Dataset(complete.name, _sentiments(train), _sentiments(complete.test), [*_GROUPS])


def _without(corpus: LabelledCorpus, texts: Sequence[str]) -> LabelledCorpus:
    excluded = {*texts}
    return corpus.part(text not in excluded for text in corpus.texts)


def _sentiments(corpus: LabelledCorpus) -> LabelledCorpus:
    """Return the texts whose emotions have one sentiment, labelled with it."""
    texts = list[str]()
    labels = list[Any]()
    for text, text_labels in zip(corpus.texts, corpus.labels, strict=True):
        emotions = text_labels if isinstance(text_labels, list) else [text_labels]
        sentiments = {_SENTIMENTS.get(emotion) for emotion in emotions}
        if len(sentiments) == 1 and None not in sentiments:
            texts.append(text)
            labels += sentiments
    return LabelledCorpus(texts, labels, is_multilabel=False)
