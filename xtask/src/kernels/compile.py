"""Compiles the kernels with NVRTC for every target, judges what came out, and compares it with kernels/gen or writes that.

The compiler sees the files of kernels/ and no other: none of CUDA's headers, none of the system's.
"""

import ctypes
import difflib
import glob
import hashlib
import json
import lzma
import os
import re
import subprocess
import sys

TARGETS = ["sm_80", "sm_86", "sm_89", "sm_90a"]
FALLBACK = "compute_80"  # PTX, for a device that no target names
PTX_VERSION = "9.0"
MOST_REGISTERS = 168  # three groups of 128 threads share 65,536
USES_TENSOR_CORES = ("attention_disentangled_", "attention_plain_")
UNIT = "kernels.cu"


def toolkit():
    found = glob.glob(os.path.join(sys.prefix, "lib", "python3*", "site-packages", "nvidia", "cu13"))
    if not found:
        sys.exit("the compiler is not installed in its environment")
    return found[0]


class Compiler:
    def __init__(self, folder, sources):
        # The library looks for its companion by name: load that first.
        for name in glob.glob(os.path.join(folder, "lib", "libnvrtc-builtins.so.*")):
            ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL)
        self.library = ctypes.CDLL(os.path.join(folder, "lib", "libnvrtc.so.13"))
        self.sources = sources

    def compile(self, target, kind):
        """The code and what the assembler said of it."""
        headers = {name: text for name, text in self.sources.items() if name != UNIT}
        texts = (ctypes.c_char_p * len(headers))(*headers.values())
        names = (ctypes.c_char_p * len(headers))(*(name.encode() for name in headers))
        program = ctypes.c_void_p()
        self.call("CreateProgram", ctypes.byref(program), self.sources[UNIT], UNIT.encode(), len(headers), texts, names)
        options = [f"--gpu-architecture={target}", "--std=c++17", "--ptxas-options=-v"]
        array = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
        failed = self.library.nvrtcCompileProgram(program, len(options), array)
        log = self.text(program, "ProgramLog").rstrip(b"\0").decode()
        if failed:
            sys.exit(f"{target}: the kernels do not compile\n{log}")
        code = self.text(program, kind)
        self.call("DestroyProgram", ctypes.byref(program))
        return code, log

    def text(self, program, what):
        size = ctypes.c_size_t()
        self.call(f"Get{what}Size", program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        self.call(f"Get{what}", program, buffer)
        return buffer.raw

    def call(self, name, *arguments):
        status = getattr(self.library, f"nvrtc{name}")(*arguments)
        if status != 0:
            sys.exit(f"nvrtc{name} failed with {status}")


def resources(log):
    """Registers, bytes of stack, and bytes spilled, of each kernel."""
    found = {}
    for part in log.split("Compiling entry function '")[1:]:
        stack, stores, loads = (
            int(re.search(rf"(\d+) bytes {what}", part).group(1)) for what in ("stack frame", "spill stores", "spill loads")
        )
        shared = re.search(r"(\d+) bytes smem", part)
        found[part.split("'")[0]] = {
            "registers": int(re.search(r"Used (\d+) registers", part).group(1)),
            "stack": stack,
            "spilled": stores + loads,
            "static_shared": int(shared.group(1)) if shared else 0,
        }
    return found


def instructions(folder, cubin):
    """Of each kernel: its instructions, those of tensor cores, and those of local memory."""
    path = os.path.join(sys.prefix, "kernels.cubin")
    with open(path, "wb") as file:
        file.write(cubin)
    tools = os.path.join(folder, "bin")
    environment = dict(os.environ, PATH=tools + os.pathsep + os.environ.get("PATH", ""))
    run = subprocess.run([os.path.join(tools, "cuobjdump"), "-sass", path], capture_output=True, text=True, env=environment)
    if run.returncode != 0:
        sys.exit(f"cuobjdump failed: {run.stderr}")
    found = {}
    for part in run.stdout.split("Function : ")[1:]:
        # An instruction's line has its address; the line below has the rest of its encoding.
        words = re.findall(r"^\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_.]*)", part, re.MULTILINE)
        found[part.split()[0]] = {
            "instructions": len(words),
            "tensor": sum(word.startswith("HMMA") for word in words),
            "local": sum(word.startswith(("LDL", "STL")) for word in words),
        }
    return found


def judge(target, name, row):
    """What is wrong with a kernel."""
    complaints = []
    if row["registers"] > MOST_REGISTERS:
        complaints.append(f"{row['registers']} registers, at most {MOST_REGISTERS}")
    if row["spilled"] or row["stack"] or row["local"]:
        complaints.append("uses local memory")
    if row["static_shared"]:
        complaints.append("has static shared memory, which the host run cannot poison")
    if name.startswith(USES_TENSOR_CORES) and row["tensor"] == 0:
        complaints.append("does not use tensor cores")
    return [f"{target} {name}: {complaint}" for complaint in complaints]


def build(kernels):
    """The files of kernels/gen, and complaints."""
    sources = {}
    for name in sorted(os.listdir(kernels)):
        if name.endswith((".cu", ".h")):
            with open(os.path.join(kernels, name), "rb") as file:
                sources[name] = file.read()
    folder = toolkit()
    compiler = Compiler(folder, sources)
    lines = [f"{'target':<8}{'kernel':<42}{'registers':>9}{'spilled':>9}{'local':>7}{'instr.':>8}{'tensor':>8}"]
    files, complaints = {}, []
    for target in TARGETS:
        cubin, log = compiler.compile(target, "CUBIN")
        files[f"{target}.cubin"] = cubin
        counted = instructions(folder, cubin)
        for name, row in sorted(resources(log).items()):
            row.update(counted[name])
            numbers = f"{row['registers']:>9}{row['spilled']:>9}{row['local']:>7}{row['instructions']:>8}{row['tensor']:>8}"
            lines.append(f"{target:<8}{name:<42}{numbers}")
            complaints += judge(target, name, row)
    ptx = compiler.compile(FALLBACK, "PTX")[0].rstrip(b"\0")
    if f".version {PTX_VERSION}\n".encode() not in ptx:
        complaints.append(f"the PTX is not of version {PTX_VERSION}")
    files[f"{FALLBACK}.ptx"] = ptx
    digest = hashlib.sha256()
    for name, text in sources.items():
        digest.update(f"{name} {len(text)}\n".encode() + text)
    manifest = {
        "sources_sha256": digest.hexdigest(),
        "files": {name: {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()} for name, data in files.items()},
    }
    texts = {"resources.txt": "\n".join(lines) + "\n", "manifest.json": json.dumps(manifest, indent=1) + "\n"}
    return files, texts, complaints


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return b""


def differences(gen, files, texts):
    """How kernels/gen differs from what was built; the compressed form may differ between versions of the library, the content not."""
    found = []
    for name, data in files.items():
        packed = read(os.path.join(gen, name + ".xz"))
        if not packed or lzma.decompress(packed) != data:
            found.append(f"{name}.xz is not what the sources give")
    for name, text in texts.items():
        committed = read(os.path.join(gen, name)).decode()
        found += list(difflib.unified_diff(committed.splitlines(), text.splitlines(), f"committed {name}", f"built {name}", lineterm="", n=0))
    return found


def main():
    kernels, write = sys.argv[1], "--write" in sys.argv
    gen = os.path.join(kernels, "gen")
    files, texts, complaints = build(kernels)
    print(texts["resources.txt"], end="")
    changed = differences(gen, files, texts)
    print("\n".join(changed))
    if complaints:
        sys.exit("\n".join(complaints))
    if write:
        os.makedirs(gen, exist_ok=True)
        for name, data in files.items():
            with open(os.path.join(gen, name + ".xz"), "wb") as file:
                file.write(lzma.compress(data, preset=9 | lzma.PRESET_EXTREME))
        for name, text in texts.items():
            with open(os.path.join(gen, name), "w", encoding="utf-8") as file:
                file.write(text)
    elif changed:
        sys.exit("kernels/gen is not what the sources give; run `cargo xtask kernels --write` and look at the change")


main()
