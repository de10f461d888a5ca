"""The model layouts that are measured: how transformers loads each, and random weights of each shape.

usage: python layouts.py LAYOUT SHAPE TOKENIZER OUT_DIR

writes a checkpoint with random weights (always the same) and the tokenizer.json of another model: LAYOUT is one of LAYOUTS,
SHAPE one of SHAPES. Speed does not depend on what the weights are, and no checkpoint has to be fetched.
"""

import json
import os
import shutil
import sys

# Layers, width, heads, width of the feed-forward part, and that of T5, whose part has two such matrices.
SHAPES = {
    "mini": (6, 384, 12, 1536, 1024),
    "base": (12, 768, 12, 3072, 2048),
    "large": (24, 1024, 16, 4096, 2816),
}
LAYOUTS = ("deberta", "bert", "roberta", "t5")
POSITIONS = 512
LABELS = {0: "entailment", 1: "neutral", 2: "contradiction"}
SEED = 0


def load(checkpoint, attention):
    """A checkpoint as a module that takes ids, mask and token types, and gives a row of logits for each sequence."""
    import torch
    import transformers

    with open(os.path.join(checkpoint, "config.json"), encoding="utf-8") as file:
        kind = json.load(file)["model_type"]
    classes = {
        "deberta-v2": transformers.DebertaV2ForSequenceClassification,
        "bert": transformers.BertForSequenceClassification,
        "roberta": transformers.RobertaForSequenceClassification,
        "t5": transformers.T5ForTokenClassification,
    }
    # DeBERTa and T5 add something to the scores, which the fused attention does not know.
    settings = {"attn_implementation": attention if kind in ("bert", "roberta") else "eager"}
    model = classes[kind].from_pretrained(checkpoint, dtype=torch.float32, **settings).eval()

    class Logits(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, input_ids, attention_mask, token_type_ids):
            if kind == "t5":
                # Only the first token's label is asked for, as a T5 of this layout is used to judge a pair.
                return self.model(input_ids=input_ids, attention_mask=attention_mask).logits[:, 0]
            types = token_type_ids if self.model.config.type_vocab_size > 1 else torch.zeros_like(token_type_ids)
            return self.model(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=types).logits

    return Logits().eval()


def configuration(layout, shape, vocabulary):
    import transformers

    layers, width, heads, inner, gated_inner = SHAPES[shape]
    labels = {"id2label": LABELS, "label2id": {name: number for number, name in LABELS.items()}}
    common = labels | {"vocab_size": vocabulary, "pad_token_id": 0}
    if layout == "t5":
        return transformers.T5Config(
            d_model=width, d_kv=width // heads, d_ff=gated_inner, num_heads=heads, num_layers=layers,
            feed_forward_proj="gated-gelu", **common,
        )
    sizes = common | {
        "hidden_size": width, "num_hidden_layers": layers, "num_attention_heads": heads, "intermediate_size": inner,
        "max_position_embeddings": POSITIONS,
    }
    if layout == "deberta":
        return transformers.DebertaV2Config(
            relative_attention=True, position_buckets=256, pos_att_type=["p2c", "c2p"], share_att_key=True,
            norm_rel_ebd="layer_norm", position_biased_input=False, **sizes,
        )
    if layout == "roberta":
        # Positions begin behind the padding's id.
        return transformers.RobertaConfig(**sizes | {"max_position_embeddings": POSITIONS + 1, "type_vocab_size": 1})
    return transformers.BertConfig(**sizes)


def write(layout, shape, tokenizer, out):
    import torch
    import transformers

    with open(tokenizer, encoding="utf-8") as file:
        vocabulary = len(json.load(file)["model"]["vocab"])
    torch.manual_seed(SEED)
    config = configuration(layout, shape, vocabulary)
    classes = {
        "deberta": transformers.DebertaV2ForSequenceClassification,
        "bert": transformers.BertForSequenceClassification,
        "roberta": transformers.RobertaForSequenceClassification,
        "t5": transformers.T5ForTokenClassification,
    }
    classes[layout](config).eval().save_pretrained(out, safe_serialization=True)
    shutil.copyfile(tokenizer, os.path.join(out, "tokenizer.json"))


if __name__ == "__main__":
    if len(sys.argv) != 5 or sys.argv[1] not in LAYOUTS or sys.argv[2] not in SHAPES:
        sys.exit(__doc__)
    write(*sys.argv[1:])
