"""tf-rf: a term counts by its documents in a class for each one outside.

Lan and others (2009).
"""

from wordclass.weightings import _supervised

CORRELATION = "relevance_frequency"

weight = _supervised.weight
