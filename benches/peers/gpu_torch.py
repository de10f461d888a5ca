"""Pairs a second of random-weight DeBERTa-v3 shapes in this machine's PyTorch with transformers, fp16, on one GPU.

    python3 gpu_torch.py 0

One JSON object a line on standard output, as they are found: whoever ends this early keeps what was said. The lengths are those of
`gpu-check`; batches are cut by tokens and sorted by length, which is kind to a program that pads.
"""

import json
import sys
import time

import torch
import transformers
from transformers import DebertaV2Config, DebertaV2ForSequenceClassification

# Width, heads, layers, and whether absolute positions and token types are added at the input, as groundline-mini has them.
SIZES = {
    "large": (1024, 16, 24, False),
    "base": (768, 12, 12, False),
    "small": (768, 12, 6, False),
    "xsmall": (384, 6, 12, False),
    "mini": (384, 12, 6, True),
}
BATCH_TOKENS = 16384
SECONDS = 2.0


class Random:
    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return self.state >> 33


def mixed(count):
    random = Random(3)
    return [200 + random.next() % 300 if random.next() % 8 == 0 else 40 + random.next() % 100 for _ in range(count)]


def batches(lengths, device):
    """Padded batches of at most BATCH_TOKENS, longest first."""
    cut, ordered = [], sorted(lengths, reverse=True)
    while ordered:
        count = max(1, BATCH_TOKENS // ordered[0])
        part, ordered = ordered[:count], ordered[count:]
        ids = torch.randint(5, 4000, (len(part), part[0]), device=device)
        mask = (torch.arange(part[0], device=device)[None] < torch.tensor(part, device=device)[:, None]).long()
        cut.append((ids, mask))
    return cut


def measure(model, lengths, device):
    parts = batches(lengths, device)

    def once():
        for ids, mask in parts:
            model(input_ids=ids, attention_mask=mask)
        torch.cuda.synchronize()

    once()
    once()
    began, rounds = time.perf_counter(), 0
    while time.perf_counter() - began < SECONDS:
        once()
        rounds += 1
    return round(rounds * len(lengths) / (time.perf_counter() - began))


def tell(**found):
    print(json.dumps(found), flush=True)


def main():
    device = f"cuda:{int(sys.argv[1])}"
    tell(torch=torch.__version__, transformers=transformers.__version__, dtype="float16")
    for attention in ("eager", "sdpa"):
        for name, (hidden, heads, layers, has_positions) in SIZES.items():
            config = DebertaV2Config(
                vocab_size=4096, hidden_size=hidden, num_attention_heads=heads, num_hidden_layers=layers,
                intermediate_size=4 * hidden, max_position_embeddings=512, relative_attention=True, position_buckets=256,
                pos_att_type=["p2c", "c2p"], norm_rel_ebd="layer_norm", share_att_key=True, position_biased_input=has_positions,
                type_vocab_size=2 if has_positions else 0, layer_norm_eps=1e-7, num_labels=3,
            )  # fmt: skip
            try:
                config._attn_implementation = attention
                # Random numbers are drawn faster there.
                with torch.device(device):
                    model = DebertaV2ForSequenceClassification(config).half().eval()
                with torch.inference_mode():
                    for kind, lengths in (("128", [128] * (BATCH_TOKENS // 128)), ("mixed", mixed(BATCH_TOKENS // 100))):
                        tell(**{f"{name} {kind} {attention}": measure(model, lengths, device)})
                del model
                torch.cuda.empty_cache()
            except (ValueError, RuntimeError) as error:
                tell(**{f"{name} {attention}": f"not measured: {error}"[:200]})


main()
