"""Loading of models for the commands."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from wordclass.errors import InputError

if TYPE_CHECKING:
    from wordclass.corpus.splits import Holdout

EncoderPath = Annotated[
    str | None,
    "ENCODER",
    "Sentence encoder of the model, if its folder was moved.",
]
EscapeFormulas = Annotated[
    bool, "Put ' before cells of a .csv or .tsv file that a spreadsheet would run as formulas."
]


def load_model(folder: Path, encoder: str | None) -> Any:  # noqa: ANN401 - a classifier
    """Return a saved model, with its encoder from another path if one is given."""
    from wordclass.storage import models

    if encoder is None:
        return models.load(folder)
    is_network = "context" in models.read_manifest(folder)["settings"]
    option = "context" if is_network else "encoder"
    return models.load(folder, **{option: encoder})


def read_holdout(folder: Path, model: Any) -> "Holdout":  # noqa: ANN401 - a classifier
    """Return the rule by which training held out documents."""
    from wordclass.corpus.splits import ChosenHoldout, Holdout
    from wordclass.storage import files, models

    stored = models.read_manifest(folder)["scores"].get("holdout")
    if stored is None:
        raise InputError(
            f"--holdout: {folder} was trained without --holdout",
            hint="leave --holdout out, or train the model with it",
        )
    # `save` accepts any scores, so they are checked only here
    with files.as_format_error(folder / models.MANIFEST, "the holdout among its scores"):
        if not stored.get("is_stratified", False):  # models of version 0.1
            return Holdout(share=stored["share"], seed=stored["seed"])
        fingerprints = model.training_.fingerprints
        return ChosenHoldout(stored["share"], stored["seed"], fingerprints, are_training=True)
