"""The peer of `cargo xtask bench-check`: SummaC-ZS the way its published code works, driven over standard input and output.

usage: python summac.py --model DIR --sentences FILE.jsonl --threads N

One process with the Hugging Face tokenizer and PyTorch in float32. It follows what `summac/model_summac.py` of
https://github.com/tingofurro/summac does with a list of documents and summaries (Laban et al. 2022, arXiv:2111.09525): sentences of
at most 10 characters are dropped, a document is cut after 100 sentences, every (document sentence, summary sentence) pair is scored
with the pair cut at 500 tokens, and the score of a summary is the mean over its sentences of the largest entailment minus the
largest contradiction. A side without a sentence scores 0. Two ways of batching are published: `score` fills batches of 128 across all
responses, `score_one` batches of 20 within each.

FILE has {"document": [sentence, …], "summary": [sentence, …]} on each line: where sentences begin and end is not what is compared.
Each line on standard input is a command, `score` or `score_one`; each answer is one JSON object on a line: the seconds that it took,
the tokens, and a list each of scores and numbers of pairs in the file's order.
"""

import argparse
import json
import os
import time

from lines import answer_lines

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["HF_HUB_OFFLINE"] = "1"

SHORT_SENTENCE_CHARS = 10
DOCUMENT_SENTENCES = 100
PAIR_TOKENS = 500
# Pairs of a batch, by the published function.
BATCH_SIZES = {"score": 128, "score_one": 20}


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--sentences", required=True)
    parser.add_argument("--threads", type=int, required=True)
    return parser.parse_args()


def long_enough(sentences):
    return [sentence for sentence in sentences if len(sentence) > SHORT_SENTENCE_CHARS]


class Contender:
    def __init__(self, options):
        os.environ["OMP_NUM_THREADS"] = os.environ["RAYON_NUM_THREADS"] = str(options.threads)
        import numpy
        import torch
        import transformers

        torch.set_num_threads(options.threads)
        transformers.utils.logging.disable_progress_bar()
        self.np, self.torch = numpy, torch
        self.version = f"transformers {transformers.__version__}, PyTorch {torch.__version__}"
        # What AutoTokenizer gives where a checkpoint names its class, as ours does not.
        file = os.path.join(options.model, "tokenizer.json")
        self.tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=file, pad_token="[PAD]")
        loaded = transformers.AutoModelForSequenceClassification.from_pretrained(options.model, dtype=torch.float32)
        self.model = loaded.eval()
        places = {name.lower(): place for place, name in self.model.config.id2label.items()}
        self.entailment, self.contradiction = places["entailment"], places["contradiction"]
        with open(options.sentences, encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
        self.texts = [(row["document"], row["summary"]) for row in rows]

    def probabilities(self, pairs):
        """The probabilities of one batch, a row of classes for each pair."""
        premises, hypotheses = zip(*pairs)
        tokens = self.tokenizer(
            list(premises), list(hypotheses), padding=True, truncation=True, max_length=PAIR_TOKENS,
            return_tensors="pt", return_token_type_ids=True,
        )
        with self.torch.no_grad():
            logits = self.model(**tokens).logits
        mask = tokens["attention_mask"]
        self.tokens += int(mask.sum())
        self.padded_tokens += mask.numel()
        return self.torch.softmax(logits, dim=-1).tolist()

    def images(self, texts, batch_size):
        """For each response its probabilities, [class, document sentence, summary sentence]."""
        images, pairs, places = [], [], []
        for document, summary in texts:
            document, summary = long_enough(document)[:DOCUMENT_SENTENCES], long_enough(summary)
            image = self.np.zeros((2, len(document), len(summary)))
            images.append(image)
            for row, premise in enumerate(document):
                for column, hypothesis in enumerate(summary):
                    pairs.append((premise, hypothesis))
                    places.append((image, row, column))
        for start in range(0, len(pairs), batch_size):
            rows = self.probabilities(pairs[start : start + batch_size])
            for (image, row, column), probabilities in zip(places[start : start + batch_size], rows):
                image[0, row, column] = probabilities[self.entailment]
                image[1, row, column] = probabilities[self.contradiction]
        return images

    def zero_shot(self, image):
        np = self.np
        if not image.size:
            return 0.0
        return float(np.mean(np.max(image[0], axis=0) - np.max(image[1], axis=0)))

    def answer(self, command):
        batch_size = BATCH_SIZES[command]
        self.tokens = self.padded_tokens = 0
        started = time.perf_counter()
        groups = [self.texts] if command == "score" else [[one] for one in self.texts]
        images = [image for group in groups for image in self.images(group, batch_size)]
        scores = [self.zero_shot(image) for image in images]
        seconds = time.perf_counter() - started
        pairs = [image[0].size for image in images]
        counts = {"tokens": self.tokens, "padded_tokens": self.padded_tokens}
        return {"seconds": seconds, "scores": scores, "pairs": pairs} | counts


if __name__ == "__main__":
    answer_lines(lambda: Contender(arguments()))
