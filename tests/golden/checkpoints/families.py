"""Reference results of the small checkpoints in this folder, computed in float64 from each family's published definition.

    python families.py check FOLDER...     compare this file's results with the golden.json of other checkpoints (say, ones whose
                                           reference was computed by transformers)
    python families.py make FROM TO        make the small checkpoints: tokenizers are cut from those in FROM, weights are random

Needs numpy, safetensors and tokenizers.
"""
import json
import math
import pathlib
import sys

import numpy as np
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer


def erf(x):
    return np.vectorize(math.erf)(x)


ACTIVATIONS = {
    "gelu": lambda x: 0.5 * x * (1 + erf(x / math.sqrt(2))),
    "gelu_new": lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "relu": lambda x: np.maximum(x, 0),
    "tanh": np.tanh,
}


class Weights:
    def __init__(self, folder):
        self.all = {name: value.astype(np.float64) for name, value in load_file(folder / "model.safetensors").items()}

    def linear(self, name, x):
        return x @ self.all[name + ".weight"].T + self.all.get(name + ".bias", 0.0)

    def layer_norm(self, name, x, eps):
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x**2).mean(-1, keepdims=True) + eps)
        return x * self.all[name + ".weight"] + self.all.get(name + ".bias", 0.0)

    def rms_norm(self, name, x, eps):
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + eps) * self.all[name + ".weight"]


def attend(q, k, v, heads, scale, bias=0.0):
    split = lambda x: x.reshape(len(x), heads, -1).transpose(1, 0, 2)
    scores = split(q) @ split(k).transpose(0, 2, 1) * scale + bias
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return (weights @ split(v)).transpose(1, 0, 2).reshape(len(q), -1)


def bert(config, w, ids, types):
    is_roberta = config["model_type"] == "roberta"
    p = "roberta." if is_roberta else "bert."
    eps, heads, act = config["layer_norm_eps"], config["num_attention_heads"], ACTIVATIONS[config["hidden_act"]]
    first = config["pad_token_id"] + 1 if is_roberta else 0
    x = w.all[p + "embeddings.word_embeddings.weight"][ids]
    x = x + w.all[p + "embeddings.position_embeddings.weight"][first : first + len(ids)]
    x = x + w.all[p + "embeddings.token_type_embeddings.weight"][types]
    x = w.layer_norm(p + "embeddings.LayerNorm", x, eps)
    for n in range(config["num_hidden_layers"]):
        name = f"{p}encoder.layer.{n}."
        q, k, v = (w.linear(f"{name}attention.self.{part}", x) for part in ("query", "key", "value"))
        context = attend(q, k, v, heads, (config["hidden_size"] // heads) ** -0.5)
        y = w.layer_norm(name + "attention.output.LayerNorm", w.linear(name + "attention.output.dense", context) + x, eps)
        z = w.linear(name + "output.dense", act(w.linear(name + "intermediate.dense", y)))
        x = w.layer_norm(name + "output.LayerNorm", z + y, eps)
    pooled = np.tanh(w.linear("classifier.dense" if is_roberta else p + "pooler.dense", x[:1]))
    logits = w.linear("classifier.out_proj" if is_roberta else "classifier", pooled)[0]
    return {"logits": logits, "mean_hidden": x.mean(0)[:16]}


def t5_bucket(ahead, buckets, farthest):
    side, far = buckets // 2, abs(ahead)
    exact = side // 2
    if far >= exact:
        ratio = np.float32(math.log(far / exact)) / np.float32(math.log(farthest / exact))
        far = min(side - 1, exact + int(ratio * np.float32(side - exact)))
    return far + (side if ahead > 0 else 0)


def t5_feed_forward(config, w, name, x):
    act = ACTIVATIONS["gelu_new" if config["feed_forward_proj"] == "gated-gelu" else config["feed_forward_proj"]]
    name += ".DenseReluDense."
    if config["feed_forward_proj"].startswith("gated-"):
        return w.linear(name + "wo", act(w.linear(name + "wi_0", x)) * w.linear(name + "wi_1", x))
    return w.linear(name + "wo", act(w.linear(name + "wi", x)))


def t5(config, w, ids, types):
    is_token = "T5ForTokenClassification" in config["architectures"]
    p, eps, heads = ("transformer." if is_token else ""), config["layer_norm_epsilon"], config["num_heads"]
    places = np.arange(len(ids))
    buckets = [[t5_bucket(j - i, config["relative_attention_num_buckets"], config["relative_attention_max_distance"])
                for j in places] for i in places]
    bias = w.all[p + "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"][buckets].transpose(2, 0, 1)
    x = w.all[p + "shared.weight"][ids]
    for n in range(config["num_layers"]):
        name = f"{p}encoder.block.{n}.layer."
        y = w.rms_norm(name + "0.layer_norm", x, eps)
        q, k, v = (w.linear(f"{name}0.SelfAttention.{part}", y) for part in "qkv")
        x = x + w.linear(name + "0.SelfAttention.o", attend(q, k, v, heads, 1.0, bias))
        x = x + t5_feed_forward(config, w, name + "1", w.rms_norm(name + "1.layer_norm", x, eps))
    x = w.rms_norm(p + "encoder.final_layer_norm", x, eps)
    if is_token:
        return token_logits(w.linear("classifier", x))
    h = w.all["shared.weight"][[config["decoder_start_token_id"]]]
    for n in range(config["num_decoder_layers"]):
        name = f"decoder.block.{n}.layer."
        y = w.rms_norm(name + "0.layer_norm", h, eps)
        h = h + w.linear(name + "0.SelfAttention.o", w.linear(name + "0.SelfAttention.v", y))
        q = w.linear(name + "1.EncDecAttention.q", w.rms_norm(name + "1.layer_norm", h, eps))
        k, v = (w.linear(f"{name}1.EncDecAttention.{part}", x) for part in "kv")
        h = h + w.linear(name + "1.EncDecAttention.o", attend(q, k, v, heads, 1.0))
        h = h + t5_feed_forward(config, w, name + "2", w.rms_norm(name + "2.layer_norm", h, eps))
    h = w.rms_norm("decoder.final_layer_norm", h, eps)
    if config.get("scale_decoder_outputs", config["tie_word_embeddings"]):
        h = h / math.sqrt(config["d_model"])
    return {"logits": (h @ w.all.get("lm_head.weight", w.all["shared.weight"]).T)[0][:16]}


def rotate(x, heads, base):
    length, half = len(x), x.shape[1] // heads // 2
    angles = np.arange(length)[:, None] * base ** (-np.arange(half) / half)[None, :]
    x = x.reshape(length, heads, 2, half)
    cosine, sine = np.cos(angles)[:, None], np.sin(angles)[:, None]
    low, high = x[:, :, 0], x[:, :, 1]
    return np.stack([low * cosine - high * sine, high * cosine + low * sine], 2).reshape(length, -1)


def modernbert(config, w, ids, types):
    eps, heads, width = config["norm_eps"], config["num_attention_heads"], config["hidden_size"]
    act, inner = ACTIVATIONS[config["hidden_activation"]], config["intermediate_size"]
    places = np.arange(len(ids))
    far = np.abs(places[:, None] - places[None, :]) > config["local_attention"] // 2
    x = w.layer_norm("model.embeddings.norm", w.all["model.embeddings.tok_embeddings.weight"][ids], eps)
    for n, kind in enumerate(config["layer_types"]):
        name = f"model.layers.{n}."
        y = w.layer_norm(name + "attn_norm", x, eps) if n else x
        q, k, v = np.split(w.linear(name + "attn.Wqkv", y), 3, axis=1)
        base = config["rope_parameters"][kind]["rope_theta"]
        bias = np.where(far, -np.inf, 0.0) if kind == "sliding_attention" else 0.0
        context = attend(rotate(q, heads, base), rotate(k, heads, base), v, heads, (width // heads) ** -0.5, bias)
        x = x + w.linear(name + "attn.Wo", context)
        wide = w.linear(name + "mlp.Wi", w.layer_norm(name + "mlp_norm", x, eps))
        x = x + w.linear(name + "mlp.Wo", act(wide[:, :inner]) * wide[:, inner:])
    x = w.layer_norm("model.final_norm", x, eps)
    x = w.layer_norm("head.norm", ACTIVATIONS[config["classifier_activation"]](w.linear("head.dense", x)), eps)
    return token_logits(w.linear("classifier", x))


def token_logits(logits):
    return {"logits": logits[:40], "last": logits[-1]}


FAMILIES = {"bert": bert, "roberta": bert, "t5": t5, "modernbert": modernbert}


def compute(folder, ids, types):
    config = json.loads((folder / "config.json").read_text())
    return FAMILIES[config["model_type"]](config, Weights(folder), np.array(ids), np.array(types))


def check(folder):
    golden, worst = json.loads((folder / "golden.json").read_text()), 0.0
    for case in golden["cases"]:
        ids = case["input_ids"]
        for key, value in compute(folder, ids, case.get("token_type_ids", [0] * len(ids))).items():
            if key in case:
                worst = max(worst, np.abs(value - np.array(case[key])).max())
    print(f"{folder.name}: {len(golden['cases'])} cases, largest difference {worst:.1e}")


# The small checkpoints.

WIDTH, HEADS, INNER, LAYERS, POSITIONS, SEED = 32, 4, 48, 2, 160, 7
PIECES = 300
T5 = {"d_model": WIDTH, "d_kv": WIDTH // HEADS, "d_ff": INNER, "num_heads": HEADS, "num_layers": LAYERS,
      "num_decoder_layers": LAYERS}
BERT = {"hidden_size": WIDTH, "num_attention_heads": HEADS, "intermediate_size": INNER, "num_hidden_layers": LAYERS}
SIZES = {
    "bert": BERT | {"max_position_embeddings": POSITIONS},
    "roberta": BERT | {"max_position_embeddings": POSITIONS + 2},
    "t5-gated": T5,
    "t5-token": T5,
    "modernbert-token": BERT | {"max_position_embeddings": POSITIONS},
}
# Old sizes by which the shapes of the tensors are told, and the new ones.
OLD = {"bert": (128, 256), "roberta": (128, 256), "t5-gated": (64, 128), "t5-token": (64, 128), "modernbert-token": (128, 256)}


def cut_tokenizer(source):
    model = source["model"]
    if model["type"] == "BPE":
        special = [token["content"] for token in source["added_tokens"]]
        merges = model["merges"][: PIECES - 256 - len(special)]
        made = {"".join(merge) if isinstance(merge, list) else merge.replace(" ", "") for merge in merges}
        keep = [piece for piece in model["vocab"] if piece in special or len(piece) == 1 or piece in made]
        model["merges"], model["vocab"] = merges, {piece: n for n, piece in enumerate(keep)}
    elif model["type"] == "WordPiece":
        # Single characters, so that every word can be read, and the most frequent of the rest.
        short = [piece for piece in model["vocab"] if len(piece.removeprefix("##")) == 1 or piece.startswith("[")]
        rest = [piece for piece in model["vocab"] if piece not in short][: PIECES - len(short)]
        keep = [piece for piece in model["vocab"] if piece in short or piece in rest]
        model["vocab"] = {piece: n for n, piece in enumerate(keep)}
    else:
        pieces = model["vocab"]
        keep = [piece for n, piece in enumerate(pieces) if n < PIECES - 90 or len(piece[0]) == 1][:PIECES]
        model["vocab"] = keep
    ids = model["vocab"] if isinstance(model["vocab"], dict) else {piece[0]: n for n, piece in enumerate(model["vocab"])}
    for token in source["added_tokens"]:
        assert ids[token["content"]] == token["id"], token
    return source, len(ids)


def small(name, source, target, random):
    config = json.loads((source / "config.json").read_text()) | SIZES[name]
    tokenizer, config["vocab_size"] = cut_tokenizer(json.loads((source / "tokenizer.json").read_text()))
    config["dtype"] = "float16"
    old_width, old_inner = OLD[name]
    changes = {old_width: WIDTH, 3 * old_width: 3 * WIDTH, old_inner: INNER, 2 * old_inner: 2 * INNER, 800: config["vocab_size"],
               512: POSITIONS, 514: POSITIONS + 2, 1024: POSITIONS}
    if name == "modernbert-token":
        changes[512] = 2 * INNER
    tensors = {}
    for key, value in load_file(source / "model.safetensors").items():
        shape = [HEADS if n == 4 else changes.get(n, n) for n in value.shape]
        if key.endswith("orm.weight"):
            new = 1 + 0.3 * random.standard_normal(shape)
        elif "embed" in key or "shared" in key or "relative" in key:
            new = random.standard_normal(shape)
        else:
            new = random.standard_normal(shape) * (1.3 / math.sqrt(shape[-1]) if len(shape) == 2 else 0.3)
        tensors[key] = new.astype(np.float16)
    target.mkdir(parents=True, exist_ok=True)
    save_file(tensors, target / "model.safetensors")
    write(target / "config.json", config, indent=2)
    write(target / "tokenizer.json", tokenizer)
    encoder = Tokenizer.from_file(str(target / "tokenizer.json"))
    encoder.enable_truncation(POSITIONS, strategy="longest_first")
    old, cases = json.loads((source / "golden.json").read_text()), []
    for case in old["cases"]:
        pair = case["premise"][:900], case["hypothesis"]
        encoded = encoder.encode(*pair)
        made = {"premise": pair[0], "hypothesis": pair[1], "input_ids": encoded.ids}
        if "token_type_ids" in case:
            made["token_type_ids"] = encoded.type_ids if name == "bert" else [0] * len(encoded.ids)
        results = compute(target, encoded.ids, made.get("token_type_ids", [0] * len(encoded.ids)))
        cases.append(made | {key: np.round(value, 6).tolist() for key, value in results.items()})
    note = old["note"].split("; weights")[0] + "; random weights stored as float16"
    reference = "families.py, float64 arithmetic, no padding; mean_hidden = first 16 entries of the mean over tokens of the last hidden state"
    write(target / "golden.json", {"note": note, "max_length": POSITIONS, "truncation": "longest_first", "reference": reference,
                                   "cases": cases})
    print(name, max(len(case["input_ids"]) for case in cases), "tokens at most")


def write(path, value, indent=None):
    path.write_text(json.dumps(value, ensure_ascii=False, indent=indent) + "\n")


def main():
    if sys.argv[1] == "check":
        for folder in sys.argv[2:]:
            check(pathlib.Path(folder))
    else:
        source, target = map(pathlib.Path, sys.argv[2:])
        random = np.random.default_rng(SEED)
        for name in SIZES:
            small(name, source / name, target / name, random)


if __name__ == "__main__":
    main()
