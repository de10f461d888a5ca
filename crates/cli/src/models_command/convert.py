"""Turns a checkpoint of pickled weights into safetensors. Run by `groundline models convert`; needs Python 3.8 and nothing else.

No code of the checkpoint is run: of its pickle only tensors, numbers, texts and containers are read, everything else becomes an
empty object.
"""
import collections
import io
import json
import pathlib
import pickle
import shutil
import struct
import sys
import zipfile

DTYPES = {
    "FloatStorage": ("F32", 4), "HalfStorage": ("F16", 2), "BFloat16Storage": ("BF16", 2), "DoubleStorage": ("F64", 8),
    "LongStorage": ("I64", 8), "IntStorage": ("I32", 4), "ByteStorage": ("U8", 1), "BoolStorage": ("BOOL", 1),
}


def fail(message):
    sys.exit(message)


class Storage:
    def __init__(self, kind):
        if kind not in DTYPES:
            fail(f"the checkpoint has numbers of kind {kind}, which are not known here")
        self.dtype, self.size = DTYPES[kind]
        self.bytes = b""


class Tensor:
    def __init__(self, storage, offset, shape, stride):
        self.storage, self.offset, self.shape, self.stride = storage, offset, list(shape), list(stride)

    def bytes(self):
        size, count, wanted = self.storage.size, 1, []
        for length in reversed(self.shape):
            wanted.insert(0, count)
            count *= length
        plain = all(have == want or length == 1 for have, want, length in zip(self.stride, wanted, self.shape))
        if plain:
            return self.storage.bytes[self.offset * size : (self.offset + count) * size]
        places = [self.offset]
        for length, step in zip(self.shape, self.stride):
            places = [place + n * step for place in places for n in range(length)]
        return b"".join(self.storage.bytes[place * size : (place + 1) * size] for place in places)


class Empty:
    """Stands for whatever is not a tensor, a number, a text or a container."""

    def __init__(self, *_, **__):
        pass

    def __setstate__(self, _):
        pass

    def __setitem__(self, *_):
        pass

    def append(self, _):
        pass

    def extend(self, _):
        pass


class Reader(pickle.Unpickler):
    def __init__(self, file, storages):
        super().__init__(file)
        self.storages = storages

    def find_class(self, module, name):
        if module == "collections" and name == "OrderedDict":
            return collections.OrderedDict
        if module.startswith("torch") and name in DTYPES:
            return lambda: name
        if module == "torch._utils" and name in ("_rebuild_tensor_v2", "_rebuild_tensor"):
            return lambda storage, offset, shape, stride, *_: Tensor(storage, offset, shape, stride)
        if module == "torch._utils" and name == "_rebuild_parameter":
            return lambda tensor, *_: tensor
        return type(name, (Empty,), {})

    def persistent_load(self, key):
        kind, name = key[1], key[2]
        if name not in self.storages:
            self.storages[name] = Storage(kind() if callable(kind) else kind)
        return self.storages[name]


def read_zip(path):
    storages = {}
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        root = next((name[: -len("data.pkl")] for name in names if name.endswith("data.pkl")), None)
        if root is None:
            fail("the file is a zip archive and holds no data.pkl; it is no checkpoint of PyTorch")
        result = Reader(io.BytesIO(archive.read(root + "data.pkl")), storages).load()
        for name, storage in storages.items():
            storage.bytes = archive.read(f"{root}data/{name}")
    return result


def read_old(path):
    """The form before PyTorch 1.6: pickles one after another, then the numbers of each storage."""
    storages = {}
    with open(path, "rb") as file:
        try:
            magic = Reader(file, storages).load()
        except Exception:
            magic = None
        if magic != 0x1950A86A20F9469CFC6C:
            fail("the file is no checkpoint of PyTorch")
        for _ in range(2):
            Reader(file, storages).load()
        result = Reader(file, storages).load()
        for name in Reader(file, storages).load():
            (count,) = struct.unpack("<q", file.read(8))
            storages[name].bytes = file.read(count * storages[name].size)
    return result


def tensors_of(value):
    for key in ("state_dict", "model_state_dict", "model"):
        if isinstance(value, dict) and isinstance(value.get(key), dict):
            value = value[key]
    if not isinstance(value, dict):
        fail("the checkpoint holds no table of weights")
    found = {name: tensor for name, tensor in value.items() if isinstance(name, str) and isinstance(tensor, Tensor)}
    return found or fail("the checkpoint holds no tensors")


def rename(name, preset):
    for old, new in ((".gamma", ".weight"), (".beta", ".bias")):
        if name.endswith("LayerNorm" + old):
            name = name[: -len(old)] + new
    if name.startswith("module."):
        name = name[len("module.") :]
    if preset == "alignscore":
        # The three-way head answers; the others and the language model's are left out.
        if name.startswith("base_model."):
            return "roberta." + name[len("base_model.") :]
        return "classifier." + name[len("tri_layer.") :] if name.startswith("tri_layer.") else None
    return name


def write(tensors, path):
    header, place, parts = {"__metadata__": {"format": "pt"}}, 0, []
    for name in sorted(tensors):
        tensor = tensors[name]
        data = tensor.bytes()
        header[name] = {"dtype": tensor.storage.dtype, "shape": tensor.shape, "data_offsets": [place, place + len(data)]}
        place += len(data)
        parts.append(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.writelines(parts)


def configuration(given, tensors, preset):
    """config.json: what there is, and what the shapes and the preset say."""
    config = dict(given)
    prefix = next((p for p in ("roberta.", "bert.") if p + "embeddings.word_embeddings.weight" in tensors), None)
    if prefix is not None:
        shape = lambda name: tensors[prefix + name].shape
        config["model_type"] = prefix[:-1]
        config["vocab_size"], config["hidden_size"] = shape("embeddings.word_embeddings.weight")
        config["max_position_embeddings"] = shape("embeddings.position_embeddings.weight")[0]
        config["type_vocab_size"] = shape("embeddings.token_type_embeddings.weight")[0]
        config["intermediate_size"] = shape("encoder.layer.0.intermediate.dense.weight")[0]
        layers = [name.split(".")[3] for name in tensors if name.startswith(prefix + "encoder.layer.")]
        config["num_hidden_layers"] = 1 + max(map(int, layers))
        config.setdefault("num_attention_heads", max(1, config["hidden_size"] // 64))
        config.setdefault("layer_norm_eps", 1e-5 if prefix == "roberta." else 1e-12)
        config.setdefault("pad_token_id", 1 if prefix == "roberta." else 0)
    names = {"factcc": ["CORRECT", "INCORRECT"], "alignscore": ["entailment", "neutral", "contradiction"]}.get(preset)
    if names:
        config["id2label"] = {str(n): name for n, name in enumerate(names)}
        config["label2id"] = {name: n for n, name in enumerate(names)}
    if "model_type" not in config:
        fail("there is no config.json beside the checkpoint; name the folder of its base model with --base")
    return config


def main():
    source, target, preset, base = sys.argv[1:5]
    source, target = pathlib.Path(source), pathlib.Path(target)
    folders = [source.parent] + ([pathlib.Path(base)] if base else [])
    value = read_zip(source) if zipfile.is_zipfile(source) else read_old(source)
    tensors = {}
    for name, tensor in tensors_of(value).items():
        new = rename(name, preset)
        if new is not None and not new.endswith("position_ids"):
            tensors[new] = tensor
    given = next((folder / "config.json" for folder in folders if (folder / "config.json").is_file()), None)
    config = configuration(json.loads(given.read_text("utf-8")) if given else {}, tensors, preset)
    target.mkdir(parents=True, exist_ok=True)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        found = next((folder / name for folder in folders if (folder / name).is_file()), None)
        if found and found.resolve() != (target / name).resolve():
            shutil.copyfile(found, target / name)
    if not (target / "tokenizer.json").is_file():
        fail("there is no tokenizer.json beside the checkpoint; name the folder of its base model with --base")
    write(tensors, target / "model.safetensors")
    (target / "config.json").write_text(json.dumps(config, indent=2) + "\n", "utf-8")
    if preset:
        (target / "groundline.json").write_text(json.dumps({"preset": preset}) + "\n", "utf-8")
    print(f"{len(tensors)} tensors")


main()
