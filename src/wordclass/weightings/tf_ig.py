"""tf-ig: a term counts by the bits that it tells about the classes.

Debole and Sebastiani (2003).
"""

from wordclass.weightings import _supervised

CORRELATION = "information_gain"

weight = _supervised.weight
