"""How the files of this folder were made: run once, by the last version with these options.

    python tests/saved_with_removed_options/make_files.py

Models and embeddings with structural columns, models with a weighting that sees labels, and in
`expected.json` what that version made of `TEXTS` with them. Later versions do not have these
options, but must read the files and answer the same: see `tests/storage/test_migrations.py`.
"""

import json
from pathlib import Path

from saved_by_0_1_0.make_files import TEXTS, answers, corpus, multilabel_corpus, vectors

import wordclass as wc

HERE = Path(__file__).parent


def models():
    """Yield every model with its name."""
    single, multi = corpus(), multilabel_corpus()
    U = vectors()
    fixed = {"min_docs": 2, "C": 1.0, "shrinkage": 5.0, "block_weight": 0.1}
    few = {"min_docs": 2, "structural_problems": 3}
    tiny = {"max_epochs": 2, "batch_size": 20, "max_length": 12, "channels": 2, "windows": (2,)}

    def fitted(name, data, **options):
        return wc.classifier(name, **options).fit(*data)

    columns = {**fixed, "structural_problems": 3, "structural_weight": 0.3}
    yield "linear_structural", fitted("linear", single, **columns, characters=(2, 3))
    yield "linear_structural_auto", fitted("linear", multi, structural_problems="auto")
    yield "svm_structural", fitted("svm", single, **few)
    given = {"features": "vectors+wce", "vectors": U, "min_docs": 2, "C": 1.0}
    yield "svm_structural_dict", fitted("svm", multi, **given, wce={"structural_problems": 3})
    embeddings = wc.WordClassEmbeddings(structural_problems=3, min_docs=2)
    yield "svm_structural_embeddings", fitted("svm", single, **given, wce=embeddings)
    yield "nearest_structural", fitted("nearest", multi, **few)
    yield "cnn_structural", fitted("cnn", single, **few, **tiny)

    yield "linear_tf_ig", fitted("linear", multi, **fixed, weighting="tf_ig", over_classes="sum")
    both = {**fixed, "weighting": "tf_rf", "characters": (2, 3)}
    yield "linear_tf_rf_characters", fitted("linear", single, **both, cross_fit_weights=False)
    yield "svm_tf_chi", fitted("svm", single, min_docs=2, weighting="tf_chi")
    confidence = {"min_docs": 2, "weighting": "tf_conf_weight", "over_classes": "sum"}
    sums = {**confidence, "features": "vectors", "vectors": U}
    yield "svm_vectors_tf_conf_weight", fitted("svm", multi, **sums)


def embeddings():
    """Yield every kind of embeddings with its name."""
    single, multi = corpus(), multilabel_corpus()

    def fitted(data, **options):
        few = {"min_docs": 2, "structural_problems": 3}
        return wc.WordClassEmbeddings(**few, **options).fit(*data)

    yield "structural", fitted(single)
    yield "structural_projected", fitted(multi, max_dims=2)
    yield "structural_documents", fitted(single, keep_documents=True)


def vectors_of(wce):
    """Return what embeddings are and make of `TEXTS`."""
    return {
        "terms": wce.terms_,
        "classes": wce.classes_,
        "columns": wce.columns_,
        "vectors": wce.vectors_.tolist(),
        "transformed": wce.transform(TEXTS).tolist(),
        "names": wce.get_feature_names_out().tolist(),
        "top_terms": [[term, float(x)] for term, x in wce.top_terms(wce.columns_[-1], 5)],
        "profile": [[label, float(x)] for label, x in wce.profile("moon")],
    }


def main():
    if "structural_problems" not in wc.WordClassEmbeddings().get_params():
        raise SystemExit("these files tell what a version with these options wrote")
    expected = {"models": {}, "embeddings": {}}
    for name, model in models():
        model.save(HERE / "models" / name)
        expected["models"][name] = answers(model)
    (HERE / "embeddings").mkdir(exist_ok=True)
    for name, wce in embeddings():
        wce.save(HERE / "embeddings" / f"{name}.wce")
        expected["embeddings"][name] = vectors_of(wce)
    (HERE / "expected.json").write_text(json.dumps(expected), encoding="utf-8")


if __name__ == "__main__":
    main()
