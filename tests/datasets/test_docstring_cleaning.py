from inspect import cleandoc

import pytest

from wordclass.datasets._docstring_cleaning import clean, count_words, words_of

NUMPYDOC = """
    Draw the dendrogram of a linkage.

    Parameters
    ----------
    height : float, optional
        Where to cut.

        .. versionadded:: 1.4
            Before, it was fixed.

    Returns
    -------
    leaves : list

    See Also
    --------
    other : does other things

    Notes
    -----
    It is drawn from the top [1]_.

    References
    ----------
    .. [1] Somebody, "Something", 1999.

    Examples
    --------
    >>> draw(height=3)
    [1, 2]

    A second example in words.
    """


def cleaned(docstring, hidden=()):
    return clean(cleandoc(docstring), frozenset(hidden))


def test_sections_of_prose_stay_and_the_others_go():
    assert cleaned(NUMPYDOC) == (
        "Draw the dendrogram of a linkage. height float, optional Where to cut. "
        "leaves list It is drawn from the top"
    )


@pytest.mark.parametrize("title", ["See Also", "References", "Examples", "Methods", "Attributes"])
def test_a_cut_section_ends_at_the_next_heading(title):
    text = f"First.\n\n{title}\n{'-' * len(title)}\nhidden\n\nNotes\n-----\nLast."
    assert cleaned(text) == "First. Last."


def test_a_prompt_goes_with_its_answer_and_its_announcement():
    text = """
        Move forward.

        Example (for an instance named pen):
        >>> pen.forward(10)
        (10, 0)
        more answer

        Then stop.
        """
    assert cleaned(text) == "Move forward. Then stop."


def test_a_directive_goes_with_what_is_below_it_and_no_further():
    text = """
        Before.

        .. deprecated:: 1.2
           Use something else.

           Really.
        After.
        """
    assert cleaned(text) == "Before. After."


@pytest.mark.parametrize(
    ("docstring", "expected"),
    [
        ("See https://example.org/a?b=c for more", "See for more"),
        ("`The page <http://example.org/>`_ says", "The page says"),
        ("write to someone@example.org today", "write to today"),
        ("an instance of :class:`~a.b.Thing` here", "an instance of here"),
        ("the value :math:`x^2` of x", "the value of x"),
        ("calls np.linalg.norm and a_b.c twice", "calls and twice"),
        ("takes %(before)s and {name} too", "takes and too"),
        ("the number 3.14 stays", "the number 3.14 stays"),
        ("an ``x`` or a `y` or **bold**", "an x or a y or bold"),
        ("from scikit-learn and scikit_learn_data too", "from and too"),
        ("first : int or None", "first int or None"),
        ("where x < 3 and y = 4", "where x < 3 and y = 4"),
        ("prose with >>> inside", "prose with inside"),
        ("coef_ keeps its underscore", "coef_ keeps its underscore"),
    ],
)
def test_what_is_no_prose_goes(docstring, expected):
    assert cleaned(docstring) == expected


def test_a_sentence_that_only_points_elsewhere_goes():
    text = "It fits a tree. Read more in the :ref:`User Guide <tree>`. It is quick."
    assert cleaned(text) == "It fits a tree. It is quick."


def test_legal_matters_and_credits_go():
    text = """
        Reads files.

        Copyright (c) 2001 by Somebody.
        All else is forbidden.

        Written by Somebody Else, 1999.
        It is fast, its authors say.
        """
    assert cleaned(text) == "Reads files. It is fast, its authors say."


def test_hidden_words_go_as_whole_words_in_any_case():
    hidden = words_of(["email", "sklearn.linear_model"])
    text = "An Email, the EMAIL-like emails; a linear_model is a Linear model of sklearn, nonlinear"
    assert cleaned(text, hidden) == "An the -like emails; a is a of nonlinear"


def test_words_are_pieces_with_letters():
    assert count_words("one two, 3 4.5 x array-like __doc__ (n,) =") == 4


def test_nothing_is_left_of_an_empty_docstring():
    assert cleaned("") == ""
    assert words_of([]) == frozenset()
