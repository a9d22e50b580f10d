"""Hugging Face's libraries read the tokenizers that gp writes, and gp reads those that they write; the ids are the same.

hugging_face_test.py DRIVER GPCTL
"""

import array
import base64
import importlib.util
import itertools
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import unittest

import hostile_text

hostile_text.use_peers_python()

import tokenizers  # noqa: E402
import transformers  # noqa: E402
from tokenizers import decoders, models, pre_tokenizers, trainers  # noqa: E402
from transformers.convert_slow_tokenizer import TikTokenConverter, bytes_to_unicode  # noqa: E402

DRIVER, GPCTL = sys.argv[1:3]
SPECIAL = "<|endoftext|>"
# Spellings of GPT-2's pattern: GPT-2's own, tiktoken's former one, and tiktoken's current one.
GPT2_EXPRESSIONS = (
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s")


def texts():
    text = hostile_text.hostile_text(5, 300_000)
    for special in (SPECIAL, "</s>", "<pad>"):
        text = text.replace(special, "<>")
    return text


def names(auto):
    """The tokens of the roles begin, end, padding and unknown."""
    return auto.bos_token, auto.eos_token, auto.pad_token, auto.unk_token


def tokenizers_of_others():
    """Byte-level BPE files that others have trained and published."""
    found = importlib.util.find_spec("aranizer")
    return sorted(pathlib.Path(found.origin).parent.glob("tokenizers/bpe/*.json")) if found else []


def documents():
    paths = sorted((hostile_text.SOURCE / "docs").rglob("*.md"))
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


class HuggingFace(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="gp-hf-")))
        cls.documents = cls.directory / "documents.txt"
        cls.documents.write_text(documents(), encoding="utf-8")

    def ours(self, tokenizer, text, verb="encode"):
        path = self.directory / "text.txt"
        path.write_bytes(text.encode())
        done = subprocess.run([DRIVER, verb, tokenizer, path], check=True, capture_output=True)
        return list(array.array("i", done.stdout))

    def export(self, tokenizer, name):
        subprocess.run([DRIVER, "export", tokenizer, self.directory / name], check=True)
        return self.directory / name

    def expect_equal(self, directory, text, tokenizer=None):
        """The ids of gp, of the library tokenizers, and of transformers' fast tokenizer are equal."""
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
        """gp learns the same merges as Hugging Face from the same text, and its file gives the same ids there."""
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
        # Trained from a file, the library would learn line by line.
        library.train_from_iterator([documents()], trainers.BpeTrainer(
            special_tokens=[SPECIAL, "<pad>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), min_frequency=2,
            show_progress=False, **settings))
        return library

    def test_a_tokenizer_trained_there(self):
        """Their special tokens come first, so gp must keep the file's ids; all three forms of the file are tested."""
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


    def trained(self, name):
        """The path and the content of a tokenizer.json that the library trained and saved."""
        directory = self.directory / name
        directory.mkdir()
        path = directory / "tokenizer.json"
        self.train_there(vocab_size=1500).save(str(path))
        return path, json.loads(path.read_text())

    def test_what_changes_no_ids_is_read(self):
        """Every accepted way to write GPT-2's tokenizer gives the same ids as the library tokenizers."""
        path, document = self.trained("ways")
        text = texts()
        a, b = ({"Sequence": {"id": name, "type_id": 0}} for name in "AB")
        nothing = {"type": "TemplateProcessing", "single": [a], "pair": [a, b], "special_tokens": {}}
        bytes_alone = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
        ways = [{"post_processor": nothing}, {"decoder": None}, {"normalizer": {"type": "Sequence", "normalizers": []}},
                {"post_processor": {"type": "Sequence", "processors": [{**bytes_alone, "use_regex": True}, nothing]}}]
        for regex in GPT2_EXPRESSIONS:
            for behavior, invert in (("Isolated", False), ("Isolated", True), ("Removed", True)):
                split = {"type": "Split", "pattern": {"Regex": regex}, "behavior": behavior, "invert": invert}
                for use_regex in (False, True):
                    steps = [split, {**bytes_alone, "use_regex": use_regex}]
                    ways.append({"pre_tokenizer": {"type": "Sequence", "pretokenizers": steps}})
        for key, value in (("byte_fallback", True), ("fuse_unk", True), ("unk_token", SPECIAL), ("dropout", 0.0)):
            ways.append({"model": document["model"] | {key: value}})
        for way in ways:
            with self.subTest(way={key: value for key, value in way.items() if key != "model"}):
                path.write_text(json.dumps(document | way))
                self.assertEqual(self.ours(path, text), tokenizers.Tokenizer.from_file(str(path)).encode(text).ids)

    # Case models-and-data/16: a tokenizer saved by transformers 5 was refused.
    def test_what_earlier_calls_left_is_passed_over(self):
        """transformers saves the truncation and padding of an earlier call, but ignores both in later calls; so must gp."""
        directory = self.export("gpt2", "used")
        auto = transformers.AutoTokenizer.from_pretrained(str(directory))
        auto.pad_token = auto.eos_token
        auto(["hello", "hello there"], truncation=True, max_length=16, padding="max_length")
        auto.save_pretrained(str(self.directory / "saved"))
        saved = json.loads((self.directory / "saved/tokenizer.json").read_text())
        self.assertEqual(saved["truncation"]["max_length"], 16)
        text = texts()
        again = transformers.AutoTokenizer.from_pretrained(str(self.directory / "saved"))
        self.assertEqual(self.ours(self.directory / "saved", text), again(text)["input_ids"])

    def test_ignore_merges(self):
        """With ignore_merges, whole words are tokens that no merges produce: when gp reads the file, and in gp's export."""
        path, document = self.trained("whole")
        vocab = document["model"]["vocab"]
        for word in ("don't", "Ġzebras", "naÃ¯ve", "Ġthe", "======", "<=>", "ä¸Ńæĸĩ"):
            vocab.setdefault(word, len(vocab))
        document["model"]["ignore_merges"] = True
        path.write_text(json.dumps(document))
        text = texts() + " zebras a<=>b naïve naïve\n======"
        library = tokenizers.Tokenizer.from_file(str(path))
        ids = library.encode(text).ids
        self.assertLessEqual({vocab["Ġzebras"], vocab["<=>"]}, set(ids))
        self.assertEqual(self.ours(path, text), ids)
        self.expect_equal(self.export(path, "whole again"), text, path)

    def converted(self, name, ranks):
        """Converts a .tiktoken file to tokenizer.json with transformers; returns the directory, the tokenizer and the .tiktoken
        file."""
        directory = self.directory / name
        directory.mkdir()
        path = directory / "ranks.tiktoken"
        path.write_text("".join(f"{base64.b64encode(token).decode()} {rank}\n" for token, rank in ranks))
        converter = TikTokenConverter(vocab_file=str(path), pattern=GPT2_EXPRESSIONS[1])
        library = converter.converted()
        library.save(str(directory / "tokenizer.json"))
        return directory, library, path

    def test_parts_that_later_merges_make(self):
        """TikTokenConverter writes every way to join a token. Ids are equal in gp, in the library, in the export and for the
        .tiktoken file."""
        _, document = self.trained("ranks")
        vocab = document["model"]["vocab"]
        alphabet = {character: byte for byte, character in bytes_to_unicode().items()}
        learned = sorted(set(vocab) - {SPECIAL, "<pad>"}, key=vocab.get)
        ranks = [(bytes(alphabet[character] for character in token), rank) for rank, token in enumerate(learned)]
        directory, library, path = self.converted("converted", ranks)
        merges = [tuple(merge) for merge in json.loads((directory / "tokenizer.json").read_text())["model"]["merges"]]
        made = {left + right: number for number, (left, right) in reversed(list(enumerate(merges)))}
        self.assertTrue(any(made.get(part, -1) > number for number, merge in enumerate(merges) for part in merge))
        text = texts()
        random.Random(7).shuffle(merges)
        shuffled = json.loads((directory / "tokenizer.json").read_text())
        shuffled["model"]["merges"] = merges
        mixed = self.directory / "shuffled.json"
        mixed.write_text(json.dumps(shuffled))
        for file, there in ((directory / "tokenizer.json", library), (mixed, tokenizers.Tokenizer.from_file(str(mixed)))):
            exported = tokenizers.Tokenizer.from_file(str(self.export(file, f"again {file.name}") / "tokenizer.json"))
            ids = there.encode(text, add_special_tokens=False).ids
            self.assertEqual(self.ours(file, text), ids)
            self.assertEqual(exported.encode(text, add_special_tokens=False).ids, ids)
        self.assertEqual(self.ours(path, text), library.encode(text, add_special_tokens=False).ids)

    def test_added_tokens_beside_a_vocabulary(self):
        """The form that transformers before 5 saved: it gives the same tokenizer there, in gp, and in the export."""
        path, _ = self.trained("added")
        tokenizers.Tokenizer.from_file(str(path)).model.save(str(path.parent))
        path.unlink()
        names = {"bos_token": "<|BOS|>", "eos_token": "END", "pad_token": "<|PAD|>", "unk_token": SPECIAL}
        ids = {"END": 1501, "<|BOS|>": 1500, "<|PAD|>": 1502}
        files = {"added_tokens.json": ids, "special_tokens_map.json": names, "config.json": {"model_type": "gpt2"},
                 "tokenizer_config.json": {"tokenizer_class": "GPT2Tokenizer"} | names}
        for name, content in files.items():
            (path.parent / name).write_text(json.dumps(content))
        text = texts().replace("END", "")
        auto = transformers.AutoTokenizer.from_pretrained(str(path.parent))
        self.assertEqual(self.ours(path.parent, text), auto(text)["input_ids"])
        exported = self.expect_equal(self.export(path.parent, "added again"), text, path.parent)
        for text, token in ids.items():
            self.assertEqual(auto.convert_tokens_to_ids(text), token)
            self.assertEqual(exported(f"a{text}b")["input_ids"][1], token)
        self.assertEqual(len(exported), len(auto))

    def test_tokenizers_of_others(self):
        """Published tokenizers have the same ids in gp, in the library and in the export, which names the same special
        tokens."""
        files = tokenizers_of_others()
        if not files:
            self.skipTest("aranizer is not installed: scripts/bootstrap --peers")
        self.assertGreaterEqual(len(files), 5)
        text = texts()
        for number, path in enumerate(files):
            with self.subTest(file=path.name):
                directory = self.directory / f"other{number}"
                directory.mkdir()
                shutil.copy(path, directory / "tokenizer.json")
                library = tokenizers.Tokenizer.from_file(str(path))
                exported = self.expect_equal(self.export(directory, f"other{number} again"), text, directory)
                self.assertEqual(exported(text)["input_ids"], library.encode(text).ids)
                spelled = "<s>hello</s> <mask>!<pad><unk>\n" * 3
                self.assertEqual(self.ours(directory, spelled, "special"), library.encode(spelled).ids)
                self.assertEqual(exported(spelled)["input_ids"], library.encode(spelled).ids)
                self.assertEqual(exported.eos_token, "</s>")

    def test_what_special_tokens_are_for(self):
        """transformers reads the same roles of special tokens from the original files and from gp's export."""
        settings = [
            {"tokenizer_config.json": {"eos_token": "<a>", "bos_token": "<b>", "pad_token": "<c>", "unk_token": SPECIAL}},
            {"tokenizer_config.json": {"eos_token": "<a>", "bos_token": None, "unk_token": None}},
            {"tokenizer_config.json": {"eos_token": "<a>"}, "special_tokens_map.json": {"eos_token": "<b>", "pad_token": "<c>"}},
            {"tokenizer_config.json": {"eos_token": {"content": "<b>", "__type": "AddedToken"}}},
            {"tokenizer_config.json": {}}]
        for number, files in enumerate(settings):
            for name in ("GPT2Tokenizer", "PreTrainedTokenizerFast"):
                with self.subTest(files=files, tokenizer_class=name):
                    directory = self.with_special_tokens(f"roles{number}{name}")
                    files["tokenizer_config.json"]["tokenizer_class"] = name
                    for file, content in files.items():
                        (directory / file).write_text(json.dumps(content))
                    theirs = transformers.AutoTokenizer.from_pretrained(str(directory))
                    again = transformers.AutoTokenizer.from_pretrained(str(self.export(directory, f"again{number}{name}")))
                    # A token without a role may get one in the export, by its spelling.
                    for one, other in zip(names(theirs), names(again)):
                        self.assertTrue(one == other or (one is None and other == SPECIAL and name != "GPT2Tokenizer"), (one, other))
                    self.assertEqual(len(theirs), len(again))

    def with_special_tokens(self, name, flags=({}, {}, {})):
        """A directory with a tokenizer.json that has the special tokens <a>, <b> and <c>."""
        path, document = self.trained(name)
        for number, (text, given) in enumerate(zip(("<a>", "<b>", "<c>"), flags)):
            plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
            document["added_tokens"].append({"id": 1500 + number, "content": text} | plain | given)
        path.write_text(json.dumps(document))
        return path.parent

    def test_special_tokens_in_text(self):
        """Prompts with special tokens get the ids that transformers gives them, with every combination of flags."""
        text = "a<a>b <b> c\n<c>\t\u00a0 d<a><b><c> <c> <c>e <b> <b>\u2003<b>é<b> _<b> <b>, (<b>)<|endoftext|><|endoftext" * 2
        every = [{key: True} for key in ("lstrip", "rstrip", "single_word")]
        for number, flags in enumerate(itertools.product([{}, {"lstrip": True, "rstrip": True}, *every], repeat=2)):
            with self.subTest(flags=flags):
                directory = self.with_special_tokens(f"flags{number}", (flags[0], flags[1], flags[0]))
                library = tokenizers.Tokenizer.from_file(str(directory / "tokenizer.json"))
                self.assertEqual(self.ours(directory, text, "special"), library.encode(text).ids)
                exported = transformers.AutoTokenizer.from_pretrained(str(self.export(directory, f"exported{number}")))
                self.assertEqual(self.ours(directory, text, "special"), exported(text)["input_ids"])

    def test_special_tokens_that_are_split_in_text(self):
        """If special tokens are split in text originally, they are split in the export too, and the ids equal those of ordinary
        text in gp."""
        text = "a<a>b <b> c\n<c> <|endoftext|>" * 2
        for split in (True, False):
            with self.subTest(split=split):
                directory = self.with_special_tokens(f"split{split}")
                config = {"tokenizer_class": "PreTrainedTokenizerFast", "split_special_tokens": split}
                (directory / "tokenizer_config.json").write_text(json.dumps(config))
                theirs = transformers.AutoTokenizer.from_pretrained(str(directory))(text)["input_ids"]
                again = transformers.AutoTokenizer.from_pretrained(str(self.export(directory, f"again{split}")))
                self.assertEqual(again(text)["input_ids"], theirs)
                self.assertEqual(self.ours(directory, text) == theirs, split)


unittest.main(argv=sys.argv[:1])
