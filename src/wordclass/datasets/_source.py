"""Where the documents of a data set come from, as shown to whoever asks for it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Source:
    """The origin of a data set.

    Parameters
    ----------
    title
        What the documents are, in one line.
    url
        A page that describes them.
    license
        Under which terms they may be used.
    how_to_get
        What a user has to do, or that nothing has to be done.
    """

    title: str
    url: str
    license: str
    how_to_get: str
