"""Turns a checkpoint of pickled weights into safetensors. Run by `groundline models convert`; needs Python 3.8 and nothing else.

No code of the checkpoint is run: of its pickle only tensors, numbers, texts and containers are read, everything else becomes an
empty object, and none of these objects takes a state. Numbers are copied from file to file in pieces; memory has an upper bound.
"""
import io
import itertools
import json
import os
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
OF_SIZE = {1: "B", 2: "H", 4: "I", 8: "Q"}
MAGIC = 0x1950A86A20F9469CFC6C
LOCAL_HEADER_BYTES = 30
PIECE_BYTES = 1 << 24
# The largest tensor of a known model has half a gigabyte; a pickle of a few bytes can ask for any amount.
MEMORY_BYTES = 2 << 30
# Tensors may share numbers, and each gets its own: so many times the size of the file at most.
MOST_COPIES = 4


def fail(message):
    sys.exit(message)


def quoted(text):
    return ascii(text if len(text) <= 100 else text[:100] + "…")


class Empty:
    """Stands for whatever is not a tensor, a number, a text or a container."""

    def __init__(self, *_, **__):
        pass

    def __call__(self, *_, **__):
        return self

    def __setstate__(self, _):
        pass

    def __setitem__(self, *_):
        pass

    def append(self, _):
        pass

    def extend(self, _):
        pass


class Table(dict):
    """An OrderedDict of the checkpoint."""

    __slots__ = ()

    def __setstate__(self, _):
        pass


class Kind(Empty):
    """How the numbers of a storage are stored."""

    def __init__(self, name):
        self.dtype, self.size = DTYPES[name]


class Storage(Empty):
    """Numbers in the file: `length` bytes from `start` on, once that is known; `part` of a zip archive."""

    def __init__(self, kind):
        self.kind, self.start, self.length, self.part = kind, None, 0, None


class Tensor(Empty):
    def __init__(self, storage, offset, shape, stride):
        is_list = lambda value: isinstance(value, (tuple, list)) and len(value) <= 64
        if not (isinstance(storage, Storage) and is_list(shape) and is_list(stride) and len(shape) == len(stride)):
            fail("the checkpoint has a tensor that cannot be read")
        if not all(type(number) is int and number >= 0 for number in (offset, *shape, *stride)):
            fail("the checkpoint has a tensor of impossible size")
        self.storage, self.offset, self.shape, self.stride = storage, offset, list(shape), list(stride)
        self.count = 1
        for length in self.shape:
            self.count *= length
        self.dimensions = [pair for pair in zip(self.shape, self.stride) if pair[0] != 1]

    def span(self):
        """Numbers from its first to its last, as they lie in the storage."""
        return 1 + sum((length - 1) * step for length, step in self.dimensions) if self.count else 0

    def bytes(self):
        return self.count * self.storage.kind.size

    def check(self, name):
        if self.storage.start is None:
            fail(f"the checkpoint lacks the numbers of tensor {quoted(name)}; download it again")
        there = self.storage.length // self.storage.kind.size
        if self.count > there or self.offset + self.span() > there:
            fail(f"tensor {quoted(name)} has more numbers than the checkpoint holds for it; download it again")

    def pieces(self, file):
        size, step = self.storage.kind.size, 1
        file.seek(self.storage.start + self.offset * size)
        for length, stride in reversed(self.dimensions):
            if stride != step:
                view = memoryview(read(file, self.span() * size)).cast(OF_SIZE[size])
                yield from rows(view, 0, self.dimensions)
                return
            step *= length
        for place in range(0, self.bytes(), PIECE_BYTES):
            yield read(file, min(PIECE_BYTES, self.bytes() - place))


def rows(view, start, dimensions):
    """The numbers of a tensor that lie apart, row by row."""
    (length, step), rest = dimensions[0], dimensions[1:]
    if rest:
        for place in range(start, start + length * step, step) if step else itertools.repeat(start, length):
            yield from rows(view, place, rest)
    elif step:
        yield view[start : start + (length - 1) * step + 1 : step].tobytes()
    else:
        yield view[start : start + 1].tobytes() * length


def read(file, count):
    data = file.read(count)
    if len(data) != count:
        fail("the checkpoint ends too early; download it again")
    return data


class Function(Empty):
    """A function of PyTorch's that makes a tensor."""

    def __init__(self, make):
        self.make = make

    def __call__(self, *arguments):
        return self.make(*arguments)


REBUILD = Function(lambda storage, offset, shape, stride, *_: Tensor(storage, offset, shape, stride))
FIRST = Function(lambda tensor, *_: tensor)
KNOWN = {
    ("collections", "OrderedDict"): Table,
    ("torch._utils", "_rebuild_tensor"): REBUILD,
    ("torch._utils", "_rebuild_tensor_v2"): REBUILD,
    ("torch._utils", "_rebuild_parameter"): FIRST,
    ("torch._utils", "_rebuild_parameter_with_state"): FIRST,
}
KINDS = {name: Kind(name) for name in DTYPES}


class Reader(pickle.Unpickler):
    def __init__(self, file, storages):
        super().__init__(file)
        self.storages = storages

    def find_class(self, module, name):
        if module.startswith("torch") and name in KINDS:
            return KINDS[name]
        return KNOWN.get((module, name), Empty)

    def persistent_load(self, key):
        if not isinstance(key, tuple) or len(key) < 3 or not isinstance(key[2], str):
            fail("the checkpoint has numbers that cannot be found")
        if not isinstance(key[1], Kind):
            fail(f"the checkpoint has numbers of a kind that is not known here; those that are: {', '.join(DTYPES)}")
        if any(part is not None for part in key[5:]):
            fail("the checkpoint has parts of storages, as PyTorch wrote them before 0.4; save it again with a newer one")
        return self.storages.setdefault(key[2], Storage(key[1]))


def read_zip(source, length):
    storages = {}
    with zipfile.ZipFile(source) as archive:
        parts = {info.filename: info for info in archive.infolist()}
        root = next((name[: -len("data.pkl")] for name in parts if name.endswith("data.pkl")), None)
        if root is None:
            fail("the file is a zip archive and holds no data.pkl; it is no checkpoint of PyTorch")
        if any(info.compress_type != zipfile.ZIP_STORED or info.file_size > length for info in parts.values()):
            fail("the file is a compressed zip archive, which PyTorch does not write; pack its parts without compression")
        value = Reader(io.BytesIO(archive.read(root + "data.pkl")), storages).load()
    for name, storage in storages.items():
        part = storage.part = parts.get(f"{root}data/{name}")
        if part is not None:
            source.seek(part.header_offset)
            before = LOCAL_HEADER_BYTES + sum(struct.unpack("<HH", read(source, LOCAL_HEADER_BYTES)[-4:]))
            storage.start, storage.length = part.header_offset + before, part.file_size
    return value


def read_old(source, length):
    """The form before PyTorch 1.6: pickles one after another, then the numbers of each storage."""
    storages = {}
    try:
        magic = Reader(source, storages).load()
    except Exception:
        magic = None
    if type(magic) is not int or magic != MAGIC:
        fail("the file is no checkpoint of PyTorch")
    for _ in range(2):
        Reader(source, storages).load()
    value = Reader(source, storages).load()
    for name in Reader(source, storages).load():
        (count,) = struct.unpack("<q", read(source, 8))
        storage = storages[name]
        storage.start, storage.length = source.tell(), count * storage.kind.size
        if count < 0 or storage.start + storage.length > length:
            fail("the checkpoint ends too early; download it again")
        source.seek(storage.length, os.SEEK_CUR)
    return value


def check(source, length, tensors):
    """Refuses tensors that are not all there, and parts of an archive that are not what was written."""
    for name, tensor in tensors.items():
        tensor.check(name)
    if sum(tensor.bytes() for tensor in tensors.values()) > MOST_COPIES * length:
        fail("the tensors of the checkpoint share their numbers so often that they would fill many times its size")
    parts = {tensor.storage.start: tensor.storage.part for tensor in tensors.values() if tensor.storage.part}
    if parts:
        with zipfile.ZipFile(source) as archive:
            for part in parts.values():
                with archive.open(part) as file:
                    while file.read(PIECE_BYTES):
                        pass


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


def renamed(found, preset):
    tensors = {}
    for name, tensor in found.items():
        new = rename(name, preset)
        if new is not None and not new.endswith("position_ids"):
            tensors[new] = tensor
    return tensors or fail("none of the checkpoint's tensors is one that the preset names; is it another model?")


def write(source, tensors, path):
    header, place = {"__metadata__": {"format": "pt"}}, 0
    for name in sorted(tensors):
        tensor = tensors[name]
        end = place + tensor.bytes()
        header[name] = {"dtype": tensor.storage.kind.dtype, "shape": tensor.shape, "data_offsets": [place, end]}
        place = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    # Under another name until it is whole.
    part = path.with_name(path.name + ".part")
    try:
        with open(part, "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            for name in sorted(tensors):
                for piece in tensors[name].pieces(source):
                    file.write(piece)
        os.replace(part, path)
    finally:
        if part.exists():
            part.unlink()


def configuration(given, tensors, preset):
    """config.json: what there is, and what the shapes and the preset say."""
    config = dict(given)
    prefix = next((p for p in ("roberta.", "bert.") if p + "embeddings.word_embeddings.weight" in tensors), None)
    if prefix is not None:
        def shape(name):
            tensor = tensors.get(prefix + name)
            if tensor is None or len(tensor.shape) != 2:
                fail(f"the checkpoint has no matrix {prefix}{name}; download it again")
            return tensor.shape

        config["model_type"] = prefix[:-1]
        config["vocab_size"], config["hidden_size"] = shape("embeddings.word_embeddings.weight")
        config["max_position_embeddings"] = shape("embeddings.position_embeddings.weight")[0]
        config["type_vocab_size"] = shape("embeddings.token_type_embeddings.weight")[0]
        config["intermediate_size"] = shape("encoder.layer.0.intermediate.dense.weight")[0]
        layers = {name.split(".")[3] for name in tensors if name.startswith(prefix + "encoder.layer.")}
        config["num_hidden_layers"] = len(layers)
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


def read_config(path):
    try:
        value = json.loads(path.read_text("utf-8"))
    except ValueError:
        value = None
    return value if isinstance(value, dict) else fail(f"{path} is no configuration; download it again")


def convert():
    source, target, preset, base = sys.argv[1:5]
    path, target = pathlib.Path(source), pathlib.Path(target)
    folders = [path.parent] + ([pathlib.Path(base)] if base else [])
    beside = lambda name: next((folder / name for folder in folders if (folder / name).is_file()), None)
    with open(path, "rb") as source:
        length = os.fstat(source.fileno()).st_size
        is_zip = zipfile.is_zipfile(source)
        source.seek(0)
        value = read_zip(source, length) if is_zip else read_old(source, length)
        tensors = renamed(tensors_of(value), preset)
        check(source, length, tensors)
        given = beside("config.json")
        config = configuration(read_config(given) if given else {}, tensors, preset)
        if not beside("tokenizer.json") and not (target / "tokenizer.json").is_file():
            fail("there is no tokenizer.json beside the checkpoint; name the folder of its base model with --base")
        target.mkdir(parents=True, exist_ok=True)
        write(source, tensors, target / "model.safetensors")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        found = beside(name)
        if found and found.resolve() != (target / name).resolve():
            shutil.copyfile(found, target / name)
    (target / "config.json").write_text(json.dumps(config, indent=2) + "\n", "utf-8")
    if preset:
        (target / "groundline.json").write_text(json.dumps({"preset": preset}) + "\n", "utf-8")
    print(f"{len(tensors)} tensors")


def bound_memory():
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    except (ImportError, OSError, ValueError):
        # Not every system has such a bound; what is read is the same without.
        pass


def main():
    bound_memory()
    try:
        convert()
    except MemoryError:
        fail(f"reading the checkpoint takes more than {MEMORY_BYTES >> 30} GiB of memory, which no known one does")
    except OSError as error:
        fail(f"{error.filename or 'the file'}: {error.strerror or 'cannot be read or written'}")
    except Exception as error:
        fail(f"the file is damaged or no checkpoint of PyTorch ({type(error).__name__})")


main()
