"""gpctl eval gives the same scores as the published methods, for each question, with the same model and the same file."""

import json
import math
import pathlib
import random
import tempfile
import unittest

import exchange
import published_choices

import torch
import transformers

QUESTIONS = 60
CONTEXT = 96
WORDS = ("a man the roof is on pulls up Café and then she smiles 1987 slowly, into Élan snow; [header] How to [title] Begin "
         "their [step] dog's naïve 日本 jump don't  over   END 😀 carefully").split(" ")


def text(rng, shortest, longest):
    return " ".join(rng.choice(WORDS) for _ in range(rng.randint(shortest, longest)))


def question(rng, index):
    # Some questions are longer than the context: the harness style truncates them.
    ctx_a, ctx_b = text(rng, 3, 14) + ".", text(rng, 0, 5)
    return {"ind": index, "activity_label": text(rng, 1, 3), "ctx_a": ctx_a, "ctx_b": ctx_b,
            "ctx": (ctx_a + " " + ctx_b).strip(), "endings": [text(rng, 1, 9) + " so." for _ in range(4)],
            "label": rng.randrange(4), "split": "val", "source_id": "made~up"}


def write_lines(path, items):
    path.write_text("".join(json.dumps(item) + "\n" for item in items))
    return path


class Choices(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="gp-choices-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.scratch = pathlib.Path(cls.folder.name)
        model = exchange.random_model(vocab_size=50257, n_positions=CONTEXT)
        model.save_pretrained(cls.scratch / "hf")
        cls.checkpoint = cls.scratch / "checkpoint"
        exchange.gpctl("import", cls.scratch / "hf", "--name", "model", "--to", cls.checkpoint, "--tokenizer", "gpt2")
        exchange.gpctl("export", cls.checkpoint, cls.scratch / "exported")
        cls.model = transformers.AutoModelForCausalLM.from_pretrained(cls.scratch / "exported", dtype=torch.float32).eval()
        cls.tokenizer = transformers.AutoTokenizer.from_pretrained(cls.scratch / "exported")
        rng = random.Random(20)
        cls.items = [question(rng, index) for index in range(QUESTIONS)]
        cls.items[7]["ctx_a"] = text(rng, 200, 200)  # only ctx_a is long; ctx stays short

    def evaluate(self, path, task, style):
        """(the result, the line of each item)"""
        lines = self.scratch / "items.jsonl"
        result = exchange.gpctl("eval", self.checkpoint, "--task", task, "--file", path, "--style", style, "--items", lines,
                                "-o", "json")
        return json.loads(result), [json.loads(line) for line in lines.read_text().splitlines()]

    def check(self, result, lines, expected, labels):
        self.assertEqual(len(lines), len(expected))
        for line, (sums, normalized, chosen, chosen_norm), label in zip(lines, expected, labels):
            with self.subTest(line=line["line"]):
                for ours, theirs in ((line["logprobs"], sums), (line["logprobs_norm"], normalized)):
                    self.assertEqual(len(ours), len(theirs))
                    for one, other in zip(ours, theirs):
                        self.assertAlmostEqual(one, other, delta=exchange.TOLERANCE * max(1, abs(other)))
                self.assertEqual((line["label"], line["chosen"], line["chosen_norm"]), (label, chosen, chosen_norm))
        for accuracy, place in (("acc", 2), ("acc_norm", 3)):
            right = sum(answer[place] == label for answer, label in zip(expected, labels))
            self.assertEqual(result[accuracy], right / len(labels))

    def test_hellaswag_s_lines_in_both_styles(self):
        path = write_lines(self.scratch / "hellaswag_val.jsonl", self.items)
        labels = [item["label"] for item in self.items]
        answers = {}
        for style in ("completion", "harness"):
            result, lines = self.evaluate(path, "hellaswag", style)
            self.assertEqual((result["kind"], result["style"], result["items"]), ("Evaluation", style, QUESTIONS))
            score = getattr(published_choices, style)
            answers[style] = [score(self.model, self.tokenizer, item) for item in self.items]
            self.check(result, lines, answers[style], labels)
        self.assertNotEqual(answers["completion"], answers["harness"])

    def test_questions_of_one_s_own(self):
        own = [{"question": item["ctx"], "choices": item["endings"][:2 + index % 3], "label": 1}
               for index, item in enumerate(self.items)]
        path = write_lines(self.scratch / "own.jsonl", own)
        result, lines = self.evaluate(path, "choices", "completion")
        published = [published_choices.completion(self.model, self.tokenizer,
                                                  {"ctx": item["question"], "endings": item["choices"]}) for item in own]
        self.check(result, lines, published, [1] * len(own))

    def test_loss_and_bits_per_byte_of_a_text(self):
        words = "\n".join(item["ctx"] for item in self.items) + "\n"
        path = self.scratch / "text.txt"
        path.write_text(words)
        result = json.loads(exchange.gpctl("eval", self.checkpoint, "--file", path, "-o", "json"))
        ids = self.tokenizer.encode(words)
        losses = []
        for first in range(0, len(ids) - 1, CONTEXT):
            window = ids[first:first + CONTEXT + 1]
            losses += published_choices.logprobs_behind(self.model, window, len(window) - 1)
        total = -sum(losses)
        bytes_of_targets = len(words.encode()) - len(self.tokenizer.decode(ids[:1]).encode())
        self.assertEqual((result["tokens"], result["bytes"]), (len(ids) - 1, bytes_of_targets))
        self.assertAlmostEqual(result["val_loss"], total / len(losses), delta=exchange.TOLERANCE)
        self.assertAlmostEqual(result["val_bpb"], total / bytes_of_targets / math.log(2), delta=exchange.TOLERANCE)

    def test_mistakes_are_told_in_words_with_the_documented_exit_codes(self):
        bad = self.scratch / "bad.jsonl"
        bad.write_text(json.dumps(self.items[0]) + "\n" + json.dumps(self.items[1] | {"label": 4}) + "\n")
        long = write_lines(self.scratch / "long.jsonl", [self.items[0] | {"ctx": "word " * CONTEXT}])
        for arguments, code, words in (
                (("--task", "hellaswag", "--file", bad), 2, "bad.jsonl:2: expected \"label\""),
                (("--task", "hellaswag", "--file", long), 2, "long.jsonl:1: context and ending have"),
                (("--task", "hellaswag", "--file", self.scratch / "absent.jsonl"), 3, "absent.jsonl"),
                (("--task", "hellaswag"), 2, "needs one --file"),
                (("--items", "x"), 2, "--items needs"),
                ((), 2, "name a text or shards with --file")):
            with self.subTest(arguments=arguments):
                done = exchange.run_gpctl("eval", self.checkpoint, *arguments)
                self.assertEqual((done.returncode, words in done.stderr), (code, True), done.stderr)
                self.assertEqual(done.stdout, "")


if __name__ == "__main__":
    unittest.main()
