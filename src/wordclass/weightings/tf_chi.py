"""tf-chi: a term counts by its squared correlation with the classes.

Debole and Sebastiani (2003).
"""

from wordclass.weightings import _supervised

CORRELATION = "chi_square"

weight = _supervised.weight
