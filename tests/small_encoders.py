"""Small sentence encoders for tests: a BERT with one layer and a table of subwords.

`letters` is a function. `bert_folder`, `static_folder` and `onnx_folder` fill a folder and return
it. Their numbers are random with a fixed seed.
"""

import json
import warnings

import numpy as np
from made_up import COMMON, WORDS

N_DIMS = 16
MAX_TOKENS = 24
SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
LETTERS = [chr(code) for code in range(ord("a"), ord("z") + 1)]
KNOWN = sorted({*COMMON, *(word for words in WORDS.values() for word in words)} - set(LETTERS))
VOCABULARY = [*SPECIALS, *LETTERS, *(f"##{letter}" for letter in LETTERS), *KNOWN]
TEXTS = ["the orbit and the moon", "rose", "Often a MELODY of nothing known: éé 42", "", "?? ??"]


def letters(texts):
    """Return the counts of each letter in texts (n, 26)."""
    return np.array([[text.count(letter) for letter in LETTERS] for text in texts])


def write_json(path, settings):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(settings), encoding="utf-8")


def tokenizer(special=True):
    """Return a tokenizer like that of BERT, with lowercase words or subwords of one letter."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    ids = {token: number for number, token in enumerate(VOCABULARY)}
    bert_tokenizer = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
    bert_tokenizer.normalizer = normalizers.BertNormalizer()
    bert_tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    if special:
        bert_tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return bert_tokenizer


def bert(seed=0):
    """Return the network."""
    import torch
    from transformers import BertConfig, BertModel

    config = BertConfig(
        vocab_size=len(VOCABULARY), hidden_size=N_DIMS, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=MAX_TOKENS, architectures=["BertModel"],
    )  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        # with the small default weights, all texts would have similar vectors
        model = BertModel(config)
        with torch.no_grad():
            for weights in model.parameters():
                if weights.ndim > 1:
                    weights.normal_(0.0, 0.5)
    return model.eval()


def _write_settings(path, pooling):
    """Write the settings of a network next to its weights."""
    path.mkdir(parents=True, exist_ok=True)
    tokenizer().save(str(path / "tokenizer.json"))
    settings = {"tokenizer_class": "BertTokenizer", "model_max_length": MAX_TOKENS}
    write_json(path / "tokenizer_config.json", settings)
    write_json(path / "sentence_bert_config.json", {"max_seq_length": MAX_TOKENS})
    kinds = [("Transformer", ""), ("Pooling", "1_Pooling"), ("Normalize", "2_Normalize")]
    modules = [
        {"idx": k, "name": str(k), "path": place, "type": f"sentence_transformers.models.{kind}"}
        for k, (kind, place) in enumerate(kinds)
    ]
    write_json(path / "modules.json", modules)
    modes = {
        f"pooling_mode_{name}": name.startswith(pooling) for name in ("cls_token", "max_tokens")
    }
    modes["pooling_mode_mean_tokens"] = pooling == "mean"
    write_json(path / "1_Pooling" / "config.json", {"word_embedding_dimension": N_DIMS, **modes})


def bert_folder(path, pooling="mean", seed=0):
    """Write a model of sentence-transformers to a folder and return the folder."""
    from safetensors.torch import save_file

    _write_settings(path, pooling)
    network = bert(seed)
    network.config.save_pretrained(path)
    save_file(network.state_dict(), path / "model.safetensors")
    return path


def onnx_folder(path, pooling="mean", seed=0):
    """Write the same network as an ONNX file to a folder and return the folder."""
    import torch

    _write_settings(path, pooling)
    network = bert(seed)
    network.config.save_pretrained(path)
    names = ("input_ids", "attention_mask", "token_type_ids")
    batch = tuple(torch.ones((2, 7), dtype=torch.int64) for _ in names)
    sizes = {0: torch.export.Dim("texts"), 1: torch.export.Dim("tokens", max=MAX_TOKENS)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter deprecates parts of its own
        torch.onnx.export(
            network, batch, path / "model.onnx", input_names=names, verbose=False,
            output_names=["last_hidden_state", "pooler_output"], dynamo=True,
            external_data=False, dynamic_shapes=dict.fromkeys(names, sizes),
        )  # fmt: skip
    return path


def static_rows(seed=0):
    """Return the table of `static_folder` with one vector per token."""
    return np.random.default_rng(seed).normal(size=(len(VOCABULARY), N_DIMS)).astype(np.float32)


def static_folder(path, seed=0, **arrays):
    """Write a model in model2vec's format, with optional arrays, and return the folder."""
    from safetensors.numpy import save_file

    path.mkdir(parents=True, exist_ok=True)
    tokenizer(special=False).save(str(path / "tokenizer.json"))
    save_file({"embeddings": static_rows(seed), **arrays}, path / "model.safetensors")
    write_json(path / "config.json", {"model_type": "model2vec", "normalize": True})
    module = {
        "idx": 0,
        "name": "0",
        "path": ".",
        "type": "sentence_transformers.models.StaticEmbedding",
    }
    write_json(path / "modules.json", [module])
    return path
