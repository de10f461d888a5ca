"""Writes the weights of a safetensors file as PyTorch would pickle them, for tests of `groundline models convert`.

    python3 pickle_checkpoint.py MODEL.safetensors OUT old|zip|lightning

`old` is the form before PyTorch 1.6; `zip` the form since, here with every matrix stored column by column; `lightning` is a zip of
AlignScore's layout with an object beside the weights that would run code.
"""
import collections
import io
import json
import pickle
import struct
import sys
import types
import zipfile

KINDS = {"F16": "HalfStorage", "F32": "FloatStorage"}


class Fake(types.ModuleType):
    """A module whose classes and functions can be named in a pickle."""


torch, utils = Fake("torch"), Fake("torch._utils")
sys.modules.update({"torch": torch, "torch._utils": utils})
for kind in KINDS.values():
    setattr(torch, kind, type(kind, (), {"__module__": "torch"}))


def _rebuild_tensor_v2(*arguments):
    return arguments


_rebuild_tensor_v2.__module__, _rebuild_tensor_v2.__qualname__ = "torch._utils", "_rebuild_tensor_v2"
utils._rebuild_tensor_v2 = _rebuild_tensor_v2


class Storage:
    def __init__(self, name, kind, data, count):
        self.name, self.kind, self.data, self.count = name, kind, data, count


class Tensor:
    def __init__(self, storage, shape, by_column=False):
        self.storage, self.shape, self.by_column = storage, tuple(shape), by_column

    def __reduce__(self):
        stride, step = [], 1
        for length in reversed(self.shape):
            stride.insert(0, step)
            step *= length
        stride = (1, self.shape[0]) if self.by_column else tuple(stride)
        return _rebuild_tensor_v2, (self.storage, 0, self.shape, stride, False, collections.OrderedDict())


def columns(data, shape):
    """A matrix column by column."""
    rows, width = shape
    size = len(data) // (rows * width)
    number = lambda row, column: data[(row * width + column) * size :][:size]
    return b"".join(number(row, column) for column in range(width) for row in range(rows))


class Trap:
    """Reading this with an ordinary unpickler would end the process."""

    def __reduce__(self):
        return sys.exit, ("code of the checkpoint was run",)


class Pickler(pickle.Pickler):
    is_old = False

    def persistent_id(self, value):
        if isinstance(value, Storage):
            key = ("storage", getattr(torch, value.kind), value.name, "cpu", value.count)
            return key + (None,) if self.is_old else key
        return None


def pickled(value, is_old):
    out = io.BytesIO()
    pickler = Pickler(out, 2)
    pickler.is_old = is_old
    pickler.dump(value)
    return out.getvalue()


def main():
    source, target, form = sys.argv[1:4]
    with open(source, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header, data = json.loads(file.read(length)), file.read()
    weights, storages = collections.OrderedDict(), []
    for name, info in sorted((item for item in header.items() if item[0] != "__metadata__")):
        start, end = info["data_offsets"]
        count = (end - start) // (2 if info["dtype"] == "F16" else 4)
        numbers, by_column = data[start:end], form == "zip" and len(info["shape"]) == 2
        if by_column:
            numbers = columns(numbers, info["shape"])
        storages.append(Storage(str(len(storages)), KINDS[info["dtype"]], numbers, count))
        # Old checkpoints of BERT name the parts of a norm so.
        old = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
        weights[old if form == "old" else name] = Tensor(storages[-1], info["shape"], by_column)
    value = weights
    if form == "lightning":
        renamed = {"roberta.": "base_model.", "classifier.out_proj.": "tri_layer.", "classifier.dense.": "base_model.pooler.dense."}
        state = collections.OrderedDict()
        for name, tensor in weights.items():
            prefix = next(prefix for prefix in renamed if name.startswith(prefix))
            state[renamed[prefix] + name[len(prefix):]] = tensor
        value = {"epoch": 3, "hyper_parameters": Trap(), "state_dict": state}
    if form == "old":
        with open(target, "wb") as out:
            out.write(pickle.dumps(0x1950A86A20F9469CFC6C, 2) + pickle.dumps(1001, 2) + pickle.dumps({"little_endian": True}, 2))
            out.write(pickled(value, True) + pickle.dumps([storage.name for storage in storages], 2))
            for storage in storages:
                out.write(struct.pack("<q", storage.count) + storage.data)
        return
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("archive/data.pkl", pickled(value, False))
        for storage in storages:
            archive.writestr("archive/data/" + storage.name, storage.data)


main()
