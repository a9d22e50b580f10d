"""A run with its own tokenizer, a path in data.tokenizer. The checkpoint contains the tokenizer, so `gpctl sample`, gp-sampler
and the gateway can use it when the original file is gone."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

import serving

IDS = 400
PROMPT = "The tokenizer of the checkpoint"


def gpctl(*words):
    return subprocess.run([serving.PROGRAMS / "gpctl", *words], check=True, capture_output=True, text=True).stdout


class PathTokenizer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = cls.enterClassContext(tempfile.TemporaryDirectory(prefix="gp-path-tokenizer-"))
        tokenizer = pathlib.Path(cls.scratch, "tokenizer")
        gpctl("data", "train-tokenizer", serving.training_text(cls.scratch), "--vocab-size", str(IDS), "--out", tokenizer)
        cls.run_directory = serving.train(cls.scratch, "own", tokenizer, steps=20)
        shutil.move(tokenizer, str(tokenizer) + ".gone")
        cls.checkpoint = serving.newest(cls.run_directory)

    def test_the_gateway_and_the_sampler_write_the_same_text(self):
        expected = serving.one_shot(self.checkpoint, PROMPT, 12, temperature=0).decode().strip()
        written = gpctl("sample", self.checkpoint, "--prompt", PROMPT, "--max-tokens", "12", "--temperature", "0")
        self.assertEqual(written.strip(), expected)
        with serving.Gateway({"own": self.checkpoint}) as gateway:
            answer = gateway.complete(model="own", prompt=PROMPT, max_tokens=12, temperature=0)
        self.assertEqual((PROMPT + answer["choices"][0]["text"]).strip(), expected)

    def test_the_gateway_reads_text_as_its_tokens(self):
        with serving.Gateway({"own": self.checkpoint}) as gateway:
            status, _, answer = gateway.request("POST", "/tokenize", {"model": "own", "prompt": PROMPT})
            self.assertEqual(status, 200, answer)
            tokens = answer["tokens"]
            self.assertLess(len(tokens), len(PROMPT), "merges were used")
            self.assertLess(max(tokens), IDS)
            self.assertGreaterEqual(max(tokens), 256)
            _, _, back = gateway.request("POST", "/detokenize", {"model": "own", "tokens": tokens})
            self.assertEqual(back["prompt"], PROMPT)

    def test_a_run_goes_on_from_its_checkpoint_without_the_file(self):
        run_file = pathlib.Path(self.scratch, "own.yaml")
        run_file.write_text(run_file.read_text(encoding="utf-8").replace("steps: 20", "steps: 24"), encoding="utf-8")
        done = subprocess.run([serving.PROGRAMS / "gp-trainer", "--spec", run_file, "--out", self.run_directory],
                              check=False, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(24, serving.checkpoints_of(self.run_directory))


if __name__ == "__main__":
    unittest.main()
