"""llm.c's model files, read and written by an independent implementation of their published layout (llm.c's train_gpt2.py,
write_model) and compared with transformers."""

import pathlib
import tempfile
import unittest

import exchange

import torch

MAGIC, HEADER_INTS = 20240326, 256
VERSIONS = {3: torch.float32, 5: torch.bfloat16}
# (name in transformers, whether Conv1D stores it transposed)
BLOCK = [("ln_1.weight", False), ("ln_1.bias", False), ("attn.c_attn.weight", True), ("attn.c_attn.bias", False),
         ("attn.c_proj.weight", True), ("attn.c_proj.bias", False), ("ln_2.weight", False), ("ln_2.bias", False),
         ("mlp.c_fc.weight", True), ("mlp.c_fc.bias", False), ("mlp.c_proj.weight", True), ("mlp.c_proj.bias", False)]


def names(layers):
    """The tensors in the order of the file."""
    blocks = [(f"transformer.h.{layer}.{name}", transposed) for name, transposed in BLOCK for layer in range(layers)]
    return [("transformer.wte.weight", False), ("transformer.wpe.weight", False), *blocks,
            ("transformer.ln_f.weight", False), ("transformer.ln_f.bias", False)]


def write(path, model, version, padded):
    config, state = model.config, model.state_dict()
    header = torch.zeros(HEADER_INTS, dtype=torch.int32)
    header[:8] = torch.tensor([MAGIC, version, config.n_positions, config.vocab_size, config.n_layer, config.n_head,
                               config.n_embd, padded], dtype=torch.int32)
    with open(path, "wb") as file:
        file.write(header.numpy().tobytes())
        for name, transposed in names(config.n_layer):
            value = state[name].t() if transposed else state[name]
            if name.endswith("wte.weight"):
                value = torch.nn.functional.pad(value, (0, 0, 0, padded - config.vocab_size))
            value = value.to(VERSIONS[version]).contiguous().view(torch.int8)
            file.write(value.numpy().tobytes())


def read(path, model):
    """(version, padded vocabulary size, state) of the file; the shapes are taken from `model`."""
    data = path.read_bytes()
    header = torch.frombuffer(bytearray(data[:1024]), dtype=torch.int32).tolist()
    magic, version, _, vocabulary, layers, _, channels, padded = header[:8]
    if magic != MAGIC or vocabulary != model.config.vocab_size:
        raise AssertionError(header[:8])
    state, at, expected = {}, 1024, model.state_dict()
    for name, transposed in names(layers):
        shape = list(expected[name].shape)
        if name.endswith("wte.weight"):
            shape = [padded, channels]
        shape = shape[::-1] if transposed else shape
        count = torch.Size(shape).numel() * VERSIONS[version].itemsize
        value = torch.frombuffer(bytearray(data[at:at + count]), dtype=VERSIONS[version]).float().view(shape)
        state[name], at = (value.t() if transposed else value), at + count
    if at != len(data):
        raise AssertionError(f"{len(data) - at} bytes are left")
    state["transformer.wte.weight"] = state["transformer.wte.weight"][:vocabulary]
    return version, padded, state


class Llmc(unittest.TestCase):
    def setUp(self):
        self.scratch = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="gp-llmc-")))
        self.model = exchange.random_model()
        self.state = {name: value for name, value in self.model.state_dict().items() if name != "lm_head.weight"}

    def test_files_of_llmc_compute_the_same_here(self):
        for version in VERSIONS:
            with self.subTest(version=version):
                file, checkpoint = self.scratch / f"v{version}.bin", self.scratch / f"from{version}"
                write(file, self.model, version, padded=384)
                exchange.gpctl("import", file, "--name", "m", "--to", checkpoint, "--tokenizer", "bytes")
                model = exchange.random_model().to(VERSIONS[version]).float()
                exchange.check_equal_logits(self, checkpoint, model, 256, length=40)

    def test_files_from_here_are_in_the_published_layout(self):
        self.model.save_pretrained(self.scratch / "hf")
        exchange.gpctl("import", self.scratch / "hf", "--name", "m", "--to", self.scratch / "m", "--tokenizer", "bytes")
        for version, dtype in (3, "f32"), (5, "bf16"):
            exchange.gpctl("export", self.scratch / "m", self.scratch / dtype, "--format", "llmc", "--dtype", dtype)
            found, padded, state = read(self.scratch / dtype / "model.bin", self.model)
            self.assertEqual((found, padded), (version, 384))
            rounded = {name: value.to(VERSIONS[version]).float() for name, value in self.state.items()}
            self.assertEqual(exchange.largest_difference(rounded, state), 0)

    def test_there_and_back_is_the_same_file(self):
        first, checkpoint, back = self.scratch / "a.bin", self.scratch / "m", self.scratch / "b"
        write(first, self.model, 3, padded=384)
        exchange.gpctl("import", first, "--name", "m", "--to", checkpoint, "--tokenizer", "bytes")
        exchange.gpctl("export", checkpoint, back, "--format", "llmc")
        self.assertEqual(first.read_bytes(), (back / "model.bin").read_bytes())


if __name__ == "__main__":
    unittest.main()
