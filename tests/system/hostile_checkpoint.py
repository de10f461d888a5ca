"""Writes a checkpoint that is broken or means harm, for tests of `groundline models convert`.

    python3 hostile_checkpoint.py OUT CASE TRAP

Where code of the checkpoint is run, it makes the folder TRAP.
"""
import io
import pickle
import struct
import sys
import zipfile

MAGIC, NUMBERS = 0x1950A86A20F9469CFC6C, bytes(range(64))
# Storage "0" of 16 numbers in F32.
STORAGE = b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x10tQ"


def integer(number):
    return pickle.dumps(number, 2)[2:-1]


def text(value):
    data = value.encode()
    return b"X" + struct.pack("<I", len(data)) + data


def tensor(storage=STORAGE, offset=0, shape=(4, 4), stride=(4, 1)):
    numbers = lambda values: b"(" + b"".join(map(integer, values)) + b"t"
    return b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + integer(offset) + numbers(shape) + numbers(stride) + b"\x89NtR"


def table(*values):
    items = b"".join(text(f"t{n}") + value for n, value in enumerate(values))
    return b"\x80\x02}(" + items + b"u."


def archive(target, pickled, numbers=NUMBERS, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(target, "w", compression) as out:
        out.writestr("archive/data.pkl", pickled)
        if numbers is not None:
            out.writestr("archive/data/0", numbers)


def old(target, pickled, count=16, numbers=NUMBERS):
    with open(target, "wb") as out:
        out.write(b"".join(pickle.dumps(value, 2) for value in (MAGIC, 1001, {"little_endian": True})) + pickled)
        out.write(pickle.dumps(["0"], 2) + struct.pack("<q", count) + numbers)


def calls(module, name, argument):
    return f"c{module}\n{name}\n".encode() + b"(" + text(argument) + b"tR"


def flipped(target):
    archive(target, table(tensor()))
    with open(target, "r+b") as file:
        at = file.read().index(NUMBERS)
        file.seek(at)
        file.write(b"\xff")


def cut(target):
    out = io.BytesIO()
    archive(out, table(tensor()))
    with open(target, "wb") as file:
        file.write(out.getvalue()[:-30])


def main():
    target, case, trap = sys.argv[1:4]
    # A state by which a tensor would become another, or an object of ours something that runs.
    state = b"}(" + text("shape") + integer(9) + text("storage") + b"N" + text("pieces") + b"cos\nmkdir\nub"
    cases = {
        "code": lambda: archive(target, table(tensor(), calls("os", "mkdir", trap), calls("builtins", "exec", f"import os; os.mkdir({trap!r})"))),
        "code-as-the-table": lambda: archive(target, b"\x80\x02" + calls("os", "mkdir", trap) + b"."),
        "code-as-the-numbers": lambda: archive(target, table(tensor(calls("os", "mkdir", trap)))),
        "code-by-a-dotted-name": lambda: archive(
            target, b"\x80\x04" + text("collections") + text("OrderedDict.fromkeys.__self__.__class__") + b"\x93."
        ),
        "state": lambda: archive(target, table(tensor() + state)),
        "memory": lambda: archive(target, b"\x80\x02}r" + struct.pack("<I", 1 << 28) + b"."),
        "long-text": lambda: archive(target, b"\x80\x04\x8d" + struct.pack("<Q", 1 << 45) + b"x."),
        "expanded": lambda: archive(target, table(tensor(shape=(1 << 40, 4), stride=(0, 1)))),
        "outside": lambda: archive(target, table(tensor(offset=1))),
        "negative": lambda: archive(target, table(tensor(offset=-1))),
        "shared": lambda: archive(target, table(*[tensor(shape=(1 << 14,), stride=(1,))] * 9), numbers=bytes(1 << 16)),
        "many-dimensions": lambda: archive(target, table(tensor(shape=(1,) * 5000, stride=(1,) * 5000))),
        "key": lambda: archive(target, b"\x80\x02K\x01Q."),
        "no-numbers": lambda: archive(target, table(tensor()), numbers=None),
        "compressed": lambda: archive(target, bytes(1 << 26), compression=zipfile.ZIP_DEFLATED),
        "flipped": lambda: flipped(target),
        "cut": lambda: cut(target),
        "old-cut": lambda: old(target, table(tensor()), numbers=NUMBERS[:-1]),
        "old-endless": lambda: old(target, table(tensor()), count=1 << 61),
        "old-negative": lambda: old(target, table(tensor()), count=-1),
        "no-line": lambda: open(target, "wb").write(b"S" + b"x" * (1 << 22)),
    }
    cases[case]()


main()
