"""Documents that are hard to tokenize: every boundary, every width, every odd character.

`documents(n, seed)` is fast (100,000 per second) and gives the same texts for the same seed.
Pieces come from pools, so that terms are repeated within and across documents.
"""

import random
import string

LETTERS = string.ascii_letters
# the tokenizer reads 8 bytes at a time and stores words of up to 16 bytes as two integers
LENGTHS = (1, 1, 2, 2, 3, 4, 5, 6, 7, 7, 8, 8, 9, 9, 10, 14, 15, 15, 16, 16, 17, 17, 18, 23, 24)
LONG_LENGTHS = (25, 31, 32, 33, 39, 40, 53, 54, 55, 63, 64, 65, 127, 128, 129)

GLUE = ("", "", " ", " ", " ", "\n", ".", ",", "-", "_", "'", "/", "\0", "\x1f", "\x7f", "  ")
LATIN = ("é", "É", "ß", "ÿ", "Þ", "µ", "ª", "²", "¼", "\xa0", "\x85", "×", "÷", "À", "\xad")
GREEK = ("Σ", "ς", "σ", "Α", "ω", "ΌΣ", "ΣΣ", "αΣ.", "Σα", "Α\u0301Σ", "ʹ", "ϴ", "ΐ")
TURKISH = ("\u0130", "ı", "\u0130\u0130", "i\u0130", "\u0130\u0307", "I\u0307", "i\u0307")
MARKS = ("\u0301", "\u0345", "e\u0301", "\u200d", "\u200b", "\ufeff", "\u0e31", "\u093f")
DIGITS = ("٣", "٣٤", "१", "７", "Ⅷ", "ⅷ", "①", "½", "\U0001d7d8", "一", "〇")
CASED = ("Ā", "Ж", "ж", "Ǆ", "ǅ", "ﬀ", "ẞ", "\u212a", "\u212b", "\u2126", "Ꙁ", "ა", "Ა", "ꭰ", "Ꭰ")
UNCASED = ("中", "中文", "カ", "\u3000", "。", "ั", "ا", "א")
ASTRAL = ("\U00010400", "\U00010428", "\U0001e900", "\U0001f600", "\U00020000", "\U0001d400")
BROKEN = ("\ud800", "\udfff", "\ud83d", "\udc00\ud800", "\u2028", "\u2029", "\u0085", "\u0378")
LAST = ("\U0010ffff", "\uffff", "\ufffe", "\U0001ffff", "\ue000", "\U000e0001", "\U00040000")

# the width of the characters of a document in Python's memory
NARROW = "ascii"
ONE = "latin"
TWO = "two bytes"
FOUR = "four bytes"
_ODD = {
    NARROW: (),
    ONE: LATIN,
    TWO: LATIN + GREEK + TURKISH + MARKS + CASED + UNCASED + BROKEN,
    FOUR: LATIN + GREEK + TURKISH + MARKS + DIGITS + CASED + UNCASED + ASTRAL + BROKEN + LAST,
}
KINDS = tuple(_ODD)


def documents(n, seed):
    """Make n documents with alternating widths of characters."""
    chance = random.Random(seed)
    pools = {kind: _pieces(kind, chance) for kind in KINDS}
    return [_document(k, pools[KINDS[k % len(KINDS)]], chance) for k in range(n)]


def encodable(texts):
    """Return the texts without lone surrogates, which UTF-8 cannot encode."""
    return [text.encode("utf-8", "ignore").decode("utf-8") for text in texts]


def spliced_with_numbers():
    """Make documents of short words and one-digit numbers, with the most terms per character."""
    words = [a + b for a in string.ascii_lowercase for b in string.ascii_lowercase]
    glues = (" 1 ", " 1 2 ", " 1-", " 3 1.", " ", "-1-")
    return [glue.join(words[:size]) for size in (1, 3, 6, 7, 40, 676) for glue in glues]


def word(chance, lengths=LENGTHS):
    """Make one ASCII word."""
    return "".join(chance.choices(LETTERS, k=chance.choice(lengths)))


def number(chance):
    """Make digits, points, commas and hyphens, sometimes with letters or underscores."""
    alphabet = chance.choice(("0123456789", "01.,-", "0.,-", "12ab.,-", "1_-.", "1Z_,-x.", ".,-"))
    return "".join(chance.choices(alphabet, k=chance.choice((1, 1, 2, 3, 5, 8, 9, 17))))


def _pieces(kind, chance):
    odd = _ODD[kind]
    pieces = [word(chance) for _ in range(150)] + [number(chance) for _ in range(120)]
    pieces += [word(chance, LONG_LENGTHS) for _ in range(8)]
    pieces += ["".join(chance.choices(pieces, k=2)) for _ in range(40)]
    if odd:
        pieces += [_odd_word(chance, odd) for _ in range(200)]
        pieces += odd * (100 // len(odd) + 1)
    if kind in (TWO, FOUR):
        end = 0x10000 if kind == TWO else 0x110000
        pieces += [chr(chance.randrange(0x80, end)) for _ in range(60)]
    return pieces + [piece.upper() for piece in chance.choices(pieces, k=40)]


def _odd_word(chance, odd):
    parts = chance.choices((*odd, *LETTERS[:8], "1", "-", "0."), k=chance.choice((1, 2, 3, 5, 9)))
    return "".join(parts)


def _document(k, pieces, chance):
    n_pieces = chance.choice((0, 1, 2, 3, 8, 20, 40))
    chosen = chance.choices(pieces, k=n_pieces)
    parts = [
        piece + glue for piece, glue in zip(chosen, chance.choices(GLUE, k=n_pieces), strict=True)
    ]
    if k % 499 == 0:
        parts.append(chance.choice(pieces) * 3 + chance.choice("aZ9_") * 10_000)
    return "".join(parts)
