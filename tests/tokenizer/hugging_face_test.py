"""Hugging Face's libraries load what gp writes and give the same ids; gp reads what they write and gives the same ids.

    hugging_face_test.py DRIVER GPCTL
"""

import array
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import hostile_text

hostile_text.use_peers_python()

import tokenizers  # noqa: E402
import transformers  # noqa: E402
from tokenizers import decoders, models, pre_tokenizers, trainers  # noqa: E402

DRIVER, GPCTL = sys.argv[1:3]
SPECIAL = "<|endoftext|>"


def texts():
    text = hostile_text.hostile_text(5, 300_000)
    for special in (SPECIAL, "</s>", "<pad>"):
        text = text.replace(special, "<>")
    return text


def documents():
    paths = sorted((hostile_text.SOURCE / "docs").rglob("*.md"))
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


class HuggingFace(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="gp-hf-")))
        cls.documents = cls.directory / "documents.txt"
        cls.documents.write_text(documents(), encoding="utf-8")

    def ours(self, tokenizer, text):
        path = self.directory / "text.txt"
        path.write_bytes(text.encode())
        done = subprocess.run([DRIVER, "encode", tokenizer, path], check=True, capture_output=True)
        return list(array.array("i", done.stdout))

    def export(self, tokenizer, name):
        subprocess.run([DRIVER, "export", tokenizer, self.directory / name], check=True)
        return self.directory / name

    def expect_equal(self, directory, text, tokenizer=None):
        """The ids of gp, of tokenizers, and of transformers, fast."""
        ours = self.ours(tokenizer or directory, text)
        library = tokenizers.Tokenizer.from_file(str(directory / "tokenizer.json"))
        self.assertEqual(ours, library.encode(text, add_special_tokens=False).ids)
        auto = transformers.AutoTokenizer.from_pretrained(str(directory))
        self.assertEqual(ours, auto(text)["input_ids"])
        self.assertEqual(auto.decode(ours, clean_up_tokenization_spaces=False), text)
        return auto

    def test_gpt2(self):
        auto = self.expect_equal(self.export("gpt2", "gpt2"), texts(), "gpt2")
        self.assertEqual((len(auto), auto.eos_token_id), (50257, 50256))

    def test_bytes(self):
        auto = self.expect_equal(self.export("bytes", "bytes"), texts(), "bytes")
        self.assertEqual((len(auto), auto.eos_token_id), (256, None))

    def test_characters(self):
        name = f"chars:{self.documents}"
        auto = self.expect_equal(self.export(name, "chars"), documents()[:20_000], name)
        self.assertIsNone(auto.eos_token_id)

    def test_a_tokenizer_trained_here(self):
        """It is what Hugging Face learns from the same text, and loads there with the same ids."""
        directory = self.directory / "ours"
        subprocess.run([GPCTL, "data", "train-tokenizer", self.documents, "--vocab-size=3000", f"--out={directory}"],
                       check=True, capture_output=True)
        auto = self.expect_equal(directory, texts())
        self.assertEqual((len(auto), auto.eos_token_id), (3000, 2999))
        theirs = json.loads(self.train_there(vocab_size=3000 + 1).to_str())
        merges = [" ".join(pair) for pair in theirs["model"]["merges"]]
        self.assertEqual(merges, json.loads((directory / "tokenizer.json").read_text())["model"]["merges"])

    def train_there(self, **settings):
        library = tokenizers.Tokenizer(models.BPE())
        library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        library.decoder = decoders.ByteLevel()
        # From a file it would learn line by line.
        library.train_from_iterator([documents()], trainers.BpeTrainer(
            special_tokens=[SPECIAL, "<pad>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), min_frequency=2,
            show_progress=False, **settings))
        return library

    def test_a_tokenizer_trained_there(self):
        """Special tokens come first, so every id is the file's own; all three forms of the file."""
        library = self.train_there(vocab_size=1500)
        directory = self.directory / "theirs"
        directory.mkdir()
        library.save(str(directory / "tokenizer.json"))
        text = texts()
        ids = library.encode(text, add_special_tokens=False).ids
        self.assertEqual(self.ours(directory, text), ids)
        document = json.loads((directory / "tokenizer.json").read_text())
        self.assertIsInstance(document["model"]["merges"][0], list)
        document["model"]["merges"] = [" ".join(pair) for pair in document["model"]["merges"]]
        (directory / "old.json").write_text(json.dumps(document))
        self.assertEqual(self.ours(directory / "old.json", text), ids)
        library.model.save(str(directory), "small")
        self.assertEqual(self.ours(directory / "small-vocab.json", text), ids)
        again = self.export(directory, "again")
        self.assertEqual(tokenizers.Tokenizer.from_file(str(again / "tokenizer.json")).encode(text, add_special_tokens=False).ids, ids)


unittest.main(argv=sys.argv[:1])
