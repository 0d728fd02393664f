"""Models as folders: written whole, checked when they are read, nothing executed."""

from wordclass.persistence.saved_model import SavedModel as SavedModel
from wordclass.persistence.saved_model import check_arrays as check_arrays
from wordclass.persistence.saved_model import check_replaceable as check_replaceable
from wordclass.persistence.saved_model import load as load
from wordclass.persistence.saved_model import read as read
from wordclass.persistence.saved_model import read_manifest as read_manifest
from wordclass.persistence.saved_model import write as write
from wordclass.persistence.training_data import TrainingData as TrainingData
