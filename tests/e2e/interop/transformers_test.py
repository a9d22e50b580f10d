"""Models of transformers give the same results in gp, models of gp give the same results in transformers, and a round trip
changes no bit."""

import json
import pathlib
import tempfile
import unittest

import exchange
import serving

import tokenizers
import torch
import transformers

GPT2_SMALL = {"vocab_size": 50257, "n_positions": 1024, "n_embd": 768, "n_layer": 12, "n_head": 12}


class Exchange(unittest.TestCase):
    def setUp(self):
        self.scratch = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="gp-exchange-")))

    def import_and_export(self, directory, *flags):
        """(checkpoint, exported directory)"""
        checkpoint, exported = self.scratch / "checkpoint", self.scratch / "exported"
        exchange.gpctl("import", directory, "--name", "model", "--to", checkpoint, *flags)
        exchange.gpctl("export", checkpoint, exported)
        return checkpoint, exported

    def check(self, model, directory, vocabulary=256, tokenizer="bytes"):
        checkpoint, exported = self.import_and_export(directory, "--tokenizer", tokenizer)
        self.assertEqual(exchange.largest_difference(exchange.state_of(directory), exchange.state_of(exported)), 0)
        exchange.check_equal_logits(self, checkpoint, model, vocabulary, length=40)

    def test_a_directory_as_save_pretrained_writes_it(self):
        model = exchange.random_model()
        model.save_pretrained(self.scratch / "hf")
        self.check(model, self.scratch / "hf")

    def test_without_the_prefix(self):
        model = exchange.random_model()
        model.transformer.save_pretrained(self.scratch / "hf")
        self.check(model, self.scratch / "hf")

    def test_shards_with_an_index(self):
        model = exchange.random_model()
        model.save_pretrained(self.scratch / "hf", max_shard_size="40KB")
        self.assertGreater(len(list((self.scratch / "hf").glob("*.safetensors"))), 3)
        self.check(model, self.scratch / "hf")

    def test_the_exact_gelu_and_a_head_of_its_own(self):
        model = exchange.random_model(activation_function="gelu", tie_word_embeddings=False)
        model.save_pretrained(self.scratch / "hf")
        self.check(model, self.scratch / "hf")

    def test_halves_are_widened(self):
        for dtype in (torch.float16, torch.bfloat16):
            with self.subTest(dtype=dtype), tempfile.TemporaryDirectory() as scratch:
                self.scratch = pathlib.Path(scratch)
                model = exchange.random_model().to(dtype)
                model.save_pretrained(self.scratch / "hf")
                self.check(model.float(), self.scratch / "hf")

    def test_bf16_out_is_the_rounded_model(self):
        model = exchange.random_model()
        model.save_pretrained(self.scratch / "hf")
        checkpoint, _ = self.import_and_export(self.scratch / "hf", "--tokenizer", "bytes")
        exchange.gpctl("export", checkpoint, self.scratch / "bf16", "--dtype", "bf16")
        rounded = {name: value.bfloat16().float() for name, value in model.state_dict().items()}
        self.assertEqual(exchange.largest_difference(rounded, exchange.state_of(self.scratch / "bf16")), 0)
        self.assertEqual(transformers.AutoConfig.from_pretrained(self.scratch / "bf16").dtype, torch.bfloat16)

    def test_a_model_of_gpt2_small_s_shape(self):
        model = exchange.random_model(**GPT2_SMALL)
        model.save_pretrained(self.scratch / "hf")
        self.check(model, self.scratch / "hf", vocabulary=50257, tokenizer="gpt2")

    def write_tokenizer(self, directory, names):
        """A tokenizer of the 256 bytes, with <|endoftext|> as token 256 and </s> as token 257."""
        alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
        vocab = {character: number for number, character in enumerate(alphabet)}
        library = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocab, merges=[]))
        library.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
        library.decoder = tokenizers.decoders.ByteLevel()
        library.add_special_tokens(["<|endoftext|>", "</s>"])
        transformers.PreTrainedTokenizerFast(tokenizer_object=library, **names).save_pretrained(directory)

    def test_where_texts_end(self):
        """The import keeps the special tokens that transformers reads from the directory, whatever they are called:
        transformers reads the same ones from the export."""
        cases = [({"eos_token_id": None}, {}, {}), ({"eos_token_id": None}, {"eos_token_id": None}, {}),
                 ({"eos_token_id": 257}, {"eos_token_id": None}, {}), ({"eos_token_id": None}, {"eos_token_id": 257}, {}),
                 ({"eos_token_id": 257}, {"eos_token_id": [257, 10]}, {}), ({"eos_token_id": None}, {"eos_token_id": None}, {"eos_token": "</s>"}),
                 ({"eos_token_id": 257, "bos_token_id": None}, {"eos_token_id": 257, "bos_token_id": None}, {"eos_token": "</s>", "bos_token": "</s>"}),
                 ({"pad_token_id": None}, {"eos_token_id": 257, "pad_token_id": None}, {"pad_token": "</s>", "eos_token": "</s>"})]
        for config, generation, names in cases:
            with self.subTest(config=config, generation=generation, names=names), tempfile.TemporaryDirectory() as scratch:
                self.scratch = pathlib.Path(scratch)
                directory = self.scratch / "hf"
                exchange.random_model().save_pretrained(directory)
                self.write_tokenizer(directory, names)
                for name, more in (("config.json", config), ("generation_config.json", generation)):
                    path = directory / name
                    path.write_text(json.dumps(json.loads(path.read_text()) | more))
                _, exported = self.import_and_export(directory)
                self.assertEqual(*(self.ends(path) for path in (directory, exported)))

    @staticmethod
    def ends(directory):
        special = transformers.AutoModelForCausalLM.from_pretrained(directory).generation_config
        # If the model names an end token, the export also gives that name to its tokenizer, so the names may differ.
        name = transformers.AutoTokenizer.from_pretrained(directory).eos_token if special.eos_token_id is None else None
        return special.bos_token_id, special.eos_token_id, special.pad_token_id, name

    def test_a_model_that_was_trained_here(self):
        run = serving.train(self.scratch, "trained", "gpt2", steps=20, bias=False)
        checkpoint, exported = serving.newest(run), self.scratch / "exported"
        exchange.gpctl("export", checkpoint, exported)
        model = transformers.AutoModelForCausalLM.from_pretrained(exported).eval()
        exchange.check_equal_logits(self, checkpoint, model, 50257, length=40)
        config = json.loads((exported / "config.json").read_text())
        self.assertEqual((config["vocab_size"], config["eos_token_id"]), (50257, 50256))
        self.assertIn("# trained", (exported / "README.md").read_text())


if __name__ == "__main__":
    unittest.main()
