"""Model selection with a time budget: try settings, let held-out documents decide, fit the best."""

from wordclass.tuning.selection import Tuned as Tuned
from wordclass.tuning.selection import tune as tune
from wordclass.tuning.trial import Trial as Trial
