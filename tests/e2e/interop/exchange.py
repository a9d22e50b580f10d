"""Shared by the tests of model import and export: gpctl's commands, and the logits that gp computes for a model."""

import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "serving"))

import serving

serving.use_clients_python()

import torch
import transformers

# fp32 sums are computed in a different order.
TOLERANCE = 1e-4


def run_gpctl(*arguments):
    return subprocess.run([serving.PROGRAMS / "gpctl", *map(str, arguments)], check=False, capture_output=True, text=True)


def gpctl(*arguments):
    """Its standard output; if it fails, the test ends with its messages."""
    done = run_gpctl(*arguments)
    if done.returncode != 0:
        raise AssertionError(f"gpctl {arguments}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def random_model(seed=1, **shape):
    """A GPT2LMHeadModel with random weights; no two are equal, not even biases and norms."""
    torch.manual_seed(seed)
    settings = {"vocab_size": 300, "n_positions": 64, "n_embd": 48, "n_layer": 2, "n_head": 3, "bos_token_id": None,
                "eos_token_id": None} | shape
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**settings)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.02 * torch.randn_like(parameter))
    return model


def state_of(directory):
    """Every tensor that transformers loads from the directory, in fp32."""
    model = transformers.AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float32)
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


def largest_difference(state, other):
    if state.keys() != other.keys():
        raise AssertionError(f"other tensors: {sorted(state.keys() ^ other.keys())}")
    return max(float((state[name] - other[name]).abs().max()) for name in state)


def prompts_of(vocabulary, length, count=6):
    generator = torch.Generator().manual_seed(7)
    return torch.randint(0, vocabulary, (count, length), generator=generator).tolist()


def check_equal_logits(test, checkpoint, model, vocabulary, length):
    """At every position of random prompts, gp's token probabilities equal those of the transformers model."""
    with serving.Gateway({"m": checkpoint}) as gateway:
        for ids in prompts_of(vocabulary, length):
            answer = gateway.complete(model="m", prompt=ids, max_tokens=1, echo=True, logprobs=1, temperature=0)
            logprobs = answer["choices"][0]["logprobs"]
            with torch.no_grad():
                scores = torch.log_softmax(model(torch.tensor([ids])).logits[0].float(), dim=-1)
            for i in range(1, len(ids)):
                expected = float(scores[i - 1][ids[i]])
                test.assertAlmostEqual(logprobs["token_logprobs"][i], expected, delta=TOLERANCE)
