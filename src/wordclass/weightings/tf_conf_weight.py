"""tf-ConfWeight: a term counts by what is sure about its preference for a class.

Soucy and Mineau (2005), whose damping of counts is ln(1 + tf).
"""

from wordclass.weightings import _supervised

CORRELATION = "conf_weight"

weight = _supervised.weight
