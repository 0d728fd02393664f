"""Encoders of texts small enough for tests to make: a BERT of one layer, and a table of sub-words.

`letters` is a function; `bert_folder`, `static_folder` and `onnx_folder` fill a folder and return
it; the numbers are random, and the same every time.
"""

import json
import warnings

import numpy as np
from made_up import COMMON, WORDS

N_DIMS = 16
MOST_TOKENS = 24
SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
LETTERS = [chr(code) for code in range(ord("a"), ord("z") + 1)]
KNOWN = sorted({*COMMON, *(word for words in WORDS.values() for word in words)} - set(LETTERS))
VOCABULARY = [*SPECIALS, *LETTERS, *(f"##{letter}" for letter in LETTERS), *KNOWN]
TEXTS = ["the orbit and the moon", "rose", "Often a MELODY of nothing known: éé 42", "", "?? ??"]


def letters(texts):
    """Return how often each letter occurs in texts (n, 26): the smallest encoder there is."""
    return np.array([[text.count(letter) for letter in LETTERS] for text in texts])


def write_json(path, facts):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(facts), encoding="utf-8")


def tokenizer(special=True):
    """A tokenizer as BERT has: words, or pieces of one letter, in lower case."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    made = Tokenizer(models.WordPiece({t: k for k, t in enumerate(VOCABULARY)}, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    if special:
        made.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return made


def bert(seed=0):
    """The network itself."""
    import torch
    from transformers import BertConfig, BertModel

    config = BertConfig(
        vocab_size=len(VOCABULARY), hidden_size=N_DIMS, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=MOST_TOKENS, architectures=["BertModel"],
    )  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        # weights as they begin are so small that all texts look alike
        model = BertModel(config)
        with torch.no_grad():
            for weights in model.parameters():
                if weights.ndim > 1:
                    weights.normal_(0.0, 0.5)
    return model.eval()


def _write_around(path, pooling):
    """Write what stands beside the weights of a network."""
    path.mkdir(parents=True, exist_ok=True)
    tokenizer().save(str(path / "tokenizer.json"))
    facts = {"tokenizer_class": "BertTokenizer", "model_max_length": MOST_TOKENS}
    write_json(path / "tokenizer_config.json", facts)
    write_json(path / "sentence_bert_config.json", {"max_seq_length": MOST_TOKENS})
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
    """Make a folder of sentence-transformers; return it."""
    from safetensors.torch import save_file

    _write_around(path, pooling)
    network = bert(seed)
    network.config.save_pretrained(path)
    save_file(network.state_dict(), path / "model.safetensors")
    return path


def onnx_folder(path, pooling="mean", seed=0):
    """Make a folder with the same network as an ONNX file; return it."""
    import torch

    _write_around(path, pooling)
    network = bert(seed)
    network.config.save_pretrained(path)
    names = ("input_ids", "attention_mask", "token_type_ids")
    batch = tuple(torch.ones((2, 7), dtype=torch.int64) for _ in names)
    sizes = {0: torch.export.Dim("texts"), 1: torch.export.Dim("tokens", max=MOST_TOKENS)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter deprecates parts of its own
        torch.onnx.export(
            network, batch, path / "model.onnx", input_names=names, verbose=False,
            output_names=["last_hidden_state", "pooler_output"], dynamo=True,
            external_data=False, dynamic_shapes=dict.fromkeys(names, sizes),
        )  # fmt: skip
    return path


def static_rows(seed=0):
    """The table of `static_folder`, of one vector per token."""
    return np.random.default_rng(seed).normal(size=(len(VOCABULARY), N_DIMS)).astype(np.float32)


def static_folder(path, seed=0, **arrays):
    """Make a folder as model2vec writes it, maybe with `weights` and `mapping`; return it."""
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
