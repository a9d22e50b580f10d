"""A GGUF export: llama.cpp's own reader reads it tensor by tensor, and llama-server loads it and continues a prompt as gp
does."""

import http.client
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import exchange
import serving
from free_ports import free_ports  # importing serving adds the folder to sys.path
from waiting import wait_for

LLAMA = serving.SOURCE / ".deps/peers/llama.cpp"
SERVER = LLAMA / "bin/llama-server"
if not SERVER.exists():
    serving.skip("llama.cpp is not installed: scripts/bootstrap --peers")
sys.path.insert(0, str(LLAMA / "gguf-py"))

import gguf
import torch

TOKENS = 24
PROMPTS = ["The run file is", "A checkpoint", "Zürich — naïve 日本"]
MODULES = {"attn_norm": "ln_1", "attn_qkv": "attn.c_attn", "attn_output": "attn.c_proj", "ffn_norm": "ln_2",
           "ffn_up": "mlp.c_fc", "ffn_down": "mlp.c_proj", "token_embd": "wte", "position_embd": "wpe",
           "output_norm": "ln_f"}


def gp_name(name):
    *block, module, kind = name.split(".")
    return ".".join((["h", block[1]] if block else []) + [MODULES[module], kind])


class LlamaServer:
    def __init__(self, model):
        self.port = free_ports(1)[0]
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [SERVER, "--model", model, "--host", "127.0.0.1", "--port", str(self.port), "--threads", "2",
             "--ctx-size", "192", "--parallel", "1", "--offline"], stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL)

    def __enter__(self):
        wait_for("llama-server", self.ready)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.log.close()

    def ready(self):
        if self.process.poll() is not None:
            self.log.seek(0)
            raise AssertionError(self.log.read().decode(errors="replace")[-3000:])
        try:
            return self.ask("GET", "/health", None)[0] == 200
        except OSError:
            return False

    def ask(self, method, path, body):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, None if body is None else json.dumps(body))
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()


class Gguf(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="gp-gguf-")))
        cls.checkpoints = {kind: serving.newest(serving.train(cls.scratch, kind, kind, steps=60))
                           for kind in ("gpt2", "bytes")}
        for kind, checkpoint in cls.checkpoints.items():
            exchange.gpctl("export", checkpoint, cls.scratch / f"{kind}-gguf", "--format", "gguf")

    def test_every_tensor_is_read_as_it_was(self):
        from safetensors.torch import load_file
        for kind, checkpoint in self.checkpoints.items():
            expected = load_file(checkpoint / "model.safetensors")
            reader = gguf.GGUFReader(self.scratch / f"{kind}-gguf/model.gguf")
            found = {gp_name(tensor.name): torch.tensor(tensor.data.copy()) for tensor in reader.tensors}
            self.assertEqual(found.keys(), expected.keys())
            for name, value in found.items():
                self.assertTrue(torch.equal(value, expected[name][:len(value)]), name)
            self.assertEqual(len(reader.fields["tokenizer.ggml.tokens"].data), len(found["wte.weight"]))

    def test_bf16_keeps_norms_and_positions(self):
        exchange.gpctl("export", self.checkpoints["bytes"], self.scratch / "bf16", "--format", "gguf", "--dtype", "bf16")
        reader = gguf.GGUFReader(self.scratch / "bf16/model.gguf")
        types = {tensor.name: tensor.tensor_type.name for tensor in reader.tensors}
        self.assertEqual(types["token_embd.weight"], "BF16")
        self.assertEqual({types[name] for name in types if "norm" in name or "position" in name}, {"F32"})

    def test_llama_server_goes_on_with_a_prompt_as_gp_does(self):
        for kind, checkpoint in self.checkpoints.items():
            with LlamaServer(self.scratch / f"{kind}-gguf/model.gguf") as server:
                for prompt in PROMPTS:
                    with self.subTest(kind=kind, prompt=prompt):
                        status, answer = server.ask("POST", "/completion", {
                            "prompt": prompt, "n_predict": TOKENS, "temperature": 0, "ignore_eos": True})
                        self.assertEqual(status, 200, answer)
                        ours = serving.one_shot(checkpoint, prompt, TOKENS, temperature=0, precision="fp32",
                                                ignore_end_of_text=True).decode(errors="replace")
                        theirs = answer["content"].rstrip("\ufffd")
                        self.assertTrue(theirs)
                        self.assertIn(prompt + theirs, ours, answer["content"].encode())


if __name__ == "__main__":
    unittest.main()
