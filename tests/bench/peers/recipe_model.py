"""nanoGPT's character-model recipe for a CPU: its settings, its data split and its model, for training it and for judging
anyone's weights by the same code. Weights are exchanged as safetensors with Hugging Face's GPT-2 names."""
import math
import types

import numpy
import safetensors.torch
import torch

import torch_step

SETTINGS = types.SimpleNamespace(
    layers=4, heads=4, channels=128, context=64, batch=12, iterations=2000, eval_interval=250, eval_batches=20,
    learning_rate=1e-3, min_learning_rate=1e-4, warmup=100, betas=(0.9, 0.99), weight_decay=0.1, clip=1.0,
    validation_fraction=0.1, bias=False, gelu="erf")


class Text:
    """Characters of a file as ids, the first nine tenths for training."""

    def __init__(self, path):
        text = open(path, encoding="utf-8").read()
        characters = sorted(set(text))
        ids = {character: index for index, character in enumerate(characters)}
        tokens = torch.from_numpy(numpy.array([ids[c] for c in text], dtype=numpy.int64))
        cut = int(len(tokens) * (1 - SETTINGS.validation_fraction))
        self.vocabulary = len(characters)
        self.train, self.validation = tokens[:cut], tokens[cut:]

    def batch(self, split):
        """Random windows, as nanoGPT draws them."""
        starts = torch.randint(len(split) - SETTINGS.context, (SETTINGS.batch,))
        inputs = torch.stack([split[i:i + SETTINGS.context] for i in starts])
        targets = torch.stack([split[i + 1:i + 1 + SETTINGS.context] for i in starts])
        return inputs, targets


def make_model(vocabulary):
    shape = types.SimpleNamespace(**vars(SETTINGS), vocabulary=vocabulary)
    model = torch_step.Gpt(shape)
    for name, parameter in model.named_parameters():
        if name.endswith("c_proj.weight"):
            torch.nn.init.normal_(parameter, std=0.02 / math.sqrt(2 * SETTINGS.layers))
    return model


def hugging_face_name(name):
    return (name.replace("blocks.", "h.").replace(".c_fc.", ".mlp.c_fc.")
            .replace(".attn.c_proj.", ".attn.C_PROJ.").replace(".c_proj.", ".mlp.c_proj.")
            .replace(".C_PROJ.", ".c_proj."))


def save(model, path):
    safetensors.torch.save_file({hugging_face_name(name): tensor.contiguous()
                                 for name, tensor in model.state_dict().items() if name != "lm_head.weight"}, path)


def load(model, path):
    """Loads weights into the model. Leaves out the padding rows of the vocabulary; matrices may be stored (in, out), as by
    Hugging Face."""
    stored = {name.removeprefix("transformer."): tensor for name, tensor in safetensors.torch.load_file(path).items()}
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            tensor = stored[hugging_face_name(name)].float()
            if tensor.dim() == 2 and tensor.shape[1] != parameter.shape[1]:
                tensor = tensor.t()
            parameter.copy_(tensor[:parameter.shape[0]])


@torch.no_grad()
def full_split_loss(model, split):
    """The mean over every character of the split that has a predecessor, in windows that do not overlap."""
    total, targets_seen, context = 0.0, 0, SETTINGS.context
    windows = (len(split) - 1) // context
    inputs = split[:windows * context].view(windows, context)
    targets = split[1:windows * context + 1].view(windows, context)
    for first in range(0, windows, 256):
        chunk = inputs[first:first + 256], targets[first:first + 256]
        total += model(*chunk).double().item() * chunk[1].numel()
        targets_seen += chunk[1].numel()
    rest = len(split) - 1 - windows * context
    if rest > 0:
        tail = split[windows * context:]
        total += model(tail[None, :-1], tail[None, 1:]).double().item() * rest
        targets_seen += rest
    return total / targets_seen
