"""One contender of the CPU benchmark: onnxruntime or transformers, driven over standard input and output.

usage: python contender.py {onnxruntime,onnxruntime-int8,transformers,transformers-bf16} --model DIR --pairs FILE.jsonl[.gz] --threads N [--onnx FILE] [--limit N]

Each line on standard input is a command, each answer one JSON object on a line: `tune` tries batch sizes and keeps the
fastest, `run` scores every pair once and says how long it took, `logits` gives the logits of the last run in the pairs'
order. Pairs are sorted by length before they are cut into batches, which is the best that padding allows.
"""

import argparse
import gzip
import json
import os
import tempfile
import time

from lines import answer_lines

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["HF_HUB_OFFLINE"] = "1"

BATCH_SIZES = (1, 4, 8, 16, 32, 64)
# While tuning, every n-th batch of the sorted pairs is run: all lengths, an eighth of the time.
TUNE_STRIDE = 8


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("engine", choices=tuple(ENGINES))
    parser.add_argument("--model", required=True)
    parser.add_argument("--pairs", required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--onnx")
    parser.add_argument("--limit", type=int)
    return parser.parse_args()


def onnxruntime_engine(options):
    import onnxruntime as ort

    settings = ort.SessionOptions()
    settings.intra_op_num_threads = options.threads
    settings.inter_op_num_threads = 1
    settings.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    model = options.onnx
    if options.engine.endswith("-int8"):
        # Its own way: weights by channel at load, activations as they come.
        from onnxruntime.quantization import QuantType, quantize_dynamic

        model = os.path.join(tempfile.mkdtemp(), "int8.onnx")
        quantize_dynamic(options.onnx, model, weight_type=QuantType.QInt8, per_channel=True)
    session = ort.InferenceSession(model, settings, providers=["CPUExecutionProvider"])

    def forward(ids, mask, types):
        return session.run(None, {"input_ids": ids, "attention_mask": mask, "token_type_ids": types})[0]

    return forward, f"onnxruntime {ort.__version__}"


def transformers_engine(options):
    import torch
    import transformers

    from layouts import load

    torch.set_num_threads(options.threads)
    transformers.utils.logging.disable_progress_bar()
    model = load(options.model, "sdpa")

    half = options.engine.endswith("-bf16")

    def forward(ids, mask, types):
        with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16, enabled=half):
            return model(torch.from_numpy(ids), torch.from_numpy(mask), torch.from_numpy(types)).float().numpy()

    return forward, f"transformers {transformers.__version__}, PyTorch {torch.__version__}"


ENGINES = {
    "onnxruntime": onnxruntime_engine,
    "onnxruntime-int8": onnxruntime_engine,
    "transformers": transformers_engine,
    "transformers-bf16": transformers_engine,
}


class Contender:
    def __init__(self, options):
        os.environ["OMP_NUM_THREADS"] = os.environ["RAYON_NUM_THREADS"] = str(options.threads)
        import numpy
        import tokenizers

        self.np = numpy
        open_text = gzip.open if options.pairs.endswith(".gz") else open
        with open_text(options.pairs, "rt", encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
        self.texts = [(row["premise"], row["claim"]) for row in rows][: options.limit]
        self.tokenizer = tokenizers.Tokenizer.from_file(os.path.join(options.model, "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        self.forward, self.version = ENGINES[options.engine](options)
        self.batch_size = 16
        self.logits = None

    def encode(self):
        """Every pair as (ids, types), and the order of their lengths."""
        encoded = self.tokenizer.encode_batch(self.texts)
        pairs = [(item.ids, item.type_ids) for item in encoded]
        return pairs, sorted(range(len(pairs)), key=lambda index: len(pairs[index][0]))

    def run_batch(self, pairs, members):
        np = self.np
        longest = max(len(pairs[index][0]) for index in members)
        ids = np.zeros((len(members), longest), np.int64)
        mask, types = np.zeros_like(ids), np.zeros_like(ids)
        for row, index in enumerate(members):
            own_ids, own_types = pairs[index]
            ids[row, : len(own_ids)] = own_ids
            mask[row, : len(own_ids)] = 1
            types[row, : len(own_ids)] = own_types
        return self.forward(ids, mask, types)

    def batches(self, order, size):
        return [order[start : start + size] for start in range(0, len(order), size)]

    def tune(self):
        pairs, order = self.encode()
        tried = {}
        for size in BATCH_SIZES:
            batches = self.batches(order, size)
            chosen = batches[min(TUNE_STRIDE // 2, len(batches) - 1) :: TUNE_STRIDE]
            self.run_batch(pairs, chosen[0])
            started = time.perf_counter()
            for members in chosen:
                self.run_batch(pairs, members)
            seconds = time.perf_counter() - started
            tokens = sum(len(pairs[index][0]) for members in chosen for index in members)
            tried[size] = round(tokens / seconds)
        self.batch_size = max(tried, key=tried.get)
        return {"batch": self.batch_size, "tokens_per_second": tried}

    def run(self):
        started = time.perf_counter()
        pairs, order = self.encode()
        encoded = time.perf_counter()
        logits = [None] * len(pairs)
        for members in self.batches(order, self.batch_size):
            for index, row in zip(members, self.run_batch(pairs, members)):
                logits[index] = row
        finished = time.perf_counter()
        self.logits = logits
        return {
            "seconds": finished - encoded,
            "tokenising_seconds": encoded - started,
            "pairs": len(pairs),
            "tokens": sum(len(ids) for ids, _ in pairs),
        }

    def answer(self, command):
        if command == "tune":
            return self.tune()
        if command == "run":
            return self.run()
        if command == "logits":
            return {"logits": [[float(value) for value in row] for row in self.logits]}
        raise SystemExit(f"unknown command {command!r}")


if __name__ == "__main__":
    answer_lines(lambda: Contender(arguments()))
