"""The losses of nanoGPT's first steps: the fixtures that gp's trainer is held to (tests/golden/nanogpt).

Written from nanoGPT's published settings: the modules in its order of construction, its initialisation, fused attention, a
tied head, AdamW with decay on matrices, clipping at 1.0, its learning rate schedule, fp32 on a CPU. The batches follow
from a formula, which the test computes too.

    .deps/peers/bin/python tests/bench/peers/nanogpt_losses.py OUT_DIRECTORY [CASE...]
"""
import argparse
import hashlib
import json
import math
import pathlib

import torch
from torch import nn
from torch.nn import functional as F

STEPS = 100
SEED = 1337

CASES = {
    # nanoGPT's defaults, small, at an odd length and vocabulary.
    "erf": {"layers": 2, "heads": 2, "channels": 32, "context": 24, "vocabulary": 41, "bias": False, "gelu": "erf",
            "batch": 6, "length": 23, "accumulation": 1, "lr": 1e-3, "beta2": 0.99, "warmup": 10, "decay": 100},
    # GPT-2's settings: biases and the tanh GELU.
    "tanh_bias": {"layers": 2, "heads": 3, "channels": 39, "context": 19, "vocabulary": 53, "bias": True, "gelu": "tanh",
                  "batch": 3, "length": 19, "accumulation": 2, "lr": 1e-3, "beta2": 0.95, "warmup": 10, "decay": 80},
    "erf_bias": {"layers": 1, "heads": 4, "channels": 32, "context": 16, "vocabulary": 32, "bias": True, "gelu": "erf",
                 "batch": 4, "length": 16, "accumulation": 1, "lr": 1e-3, "beta2": 0.99, "warmup": 0, "decay": 100},
    # The published recipe for a CPU.
    "recipe": {"layers": 4, "heads": 4, "channels": 128, "context": 64, "vocabulary": 65, "bias": False, "gelu": "erf",
               "batch": 12, "length": 64, "accumulation": 1, "lr": 1e-3, "beta2": 0.99, "warmup": 100, "decay": 2000},
    # A model of GPT-2's kind that is large enough for every blocking of the products to be used.
    "wide": {"layers": 2, "heads": 4, "channels": 256, "context": 96, "vocabulary": 1009, "bias": True, "gelu": "tanh",
             "batch": 2, "length": 96, "accumulation": 2, "lr": 6e-4, "beta2": 0.95, "warmup": 20, "decay": 200},
}


class LayerNorm(nn.Module):
    def __init__(self, case):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(case["channels"]))
        self.bias = nn.Parameter(torch.zeros(case["channels"])) if case["bias"] else None

    def forward(self, x):
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, 1e-5)


class Attention(nn.Module):
    def __init__(self, case):
        super().__init__()
        self.heads = case["heads"]
        self.c_attn = nn.Linear(case["channels"], 3 * case["channels"], bias=case["bias"])
        self.c_proj = nn.Linear(case["channels"], case["channels"], bias=case["bias"])

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (part.view(b, t, self.heads, c // self.heads).transpose(1, 2)
                   for part in self.c_attn(x).split(c, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).reshape(b, t, c))


class Mlp(nn.Module):
    def __init__(self, case):
        super().__init__()
        self.c_fc = nn.Linear(case["channels"], 4 * case["channels"], bias=case["bias"])
        self.c_proj = nn.Linear(4 * case["channels"], case["channels"], bias=case["bias"])
        self.approximate = "tanh" if case["gelu"] == "tanh" else "none"

    def forward(self, x):
        return self.c_proj(F.gelu(self.c_fc(x), approximate=self.approximate))


class Block(nn.Module):
    def __init__(self, case):
        super().__init__()
        self.ln_1 = LayerNorm(case)
        self.attn = Attention(case)
        self.ln_2 = LayerNorm(case)
        self.mlp = Mlp(case)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Gpt(nn.Module):
    def __init__(self, case):
        super().__init__()
        self.wte = nn.Embedding(case["vocabulary"], case["channels"])
        self.wpe = nn.Embedding(case["context"], case["channels"])
        self.h = nn.ModuleList(Block(case) for _ in range(case["layers"]))
        self.ln_f = LayerNorm(case)
        self.lm_head = nn.Linear(case["channels"], case["vocabulary"], bias=False)
        self.wte.weight = self.lm_head.weight
        self.apply(self.initialize)
        for name, parameter in self.named_parameters():
            if name.endswith("c_proj.weight"):
                nn.init.normal_(parameter, mean=0.0, std=0.02 / math.sqrt(2 * case["layers"]))

    @staticmethod
    def initialize(module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, mean=0.0, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, tokens, targets):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        for block in self.h:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.reshape(-1))


def make_row(case, number):
    """The length + 1 ids of row `number`, counted over all steps: each follows from the one before, with noise."""
    state, ids = number + 1, []
    for _ in range(case["length"] + 1):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        draw = state >> 33
        follows = ids and draw % 8 != 0
        ids.append(((5 * ids[-1] + 3) if follows else draw // 8) % case["vocabulary"])
    return ids


def make_batch(case, step, micro_batch):
    first = (step * case["accumulation"] + micro_batch) * case["batch"]
    return torch.tensor([make_row(case, first + row) for row in range(case["batch"])])


def learning_rate(case, step):
    lowest = 0.1 * case["lr"]
    if step < case["warmup"]:
        return case["lr"] * (step + 1) / (case["warmup"] + 1)
    if step > case["decay"]:
        return lowest
    progress = (step - case["warmup"]) / (case["decay"] - case["warmup"])
    return lowest + 0.5 * (1.0 + math.cos(math.pi * progress)) * (case["lr"] - lowest)


def make_optimizer(case, model):
    parameters = list(model.parameters())
    groups = [{"params": [p for p in parameters if p.dim() >= 2], "weight_decay": 0.1},
              {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=case["lr"], betas=(0.9, case["beta2"]), eps=1e-8)


def take_step(case, model, optimizer, step):
    for group in optimizer.param_groups:
        group["lr"] = learning_rate(case, step)
    total = 0.0
    for micro_batch in range(case["accumulation"]):
        ids = make_batch(case, step, micro_batch)
        loss = model(ids[:, :-1], ids[:, 1:])
        total += loss.item()
        (loss / case["accumulation"]).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return total / case["accumulation"]


def sha256(tensor):
    return hashlib.sha256(tensor.detach().numpy().tobytes()).hexdigest()


def measure(case):
    torch.manual_seed(SEED)
    model = Gpt(case)
    initial = {name: sha256(parameter) for name, parameter in model.named_parameters()}
    optimizer = make_optimizer(case, model)
    losses = [take_step(case, model, optimizer, step) for step in range(STEPS)]
    return {"torch": torch.__version__, "seed": SEED, **case, "initial_sha256": initial, "losses": losses}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("cases", nargs="*", metavar="CASE", help="of " + ", ".join(CASES))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    for name in arguments.cases or CASES:
        fixture = measure(CASES[name])
        (arguments.out / f"{name}.json").write_text(json.dumps(fixture, indent=1) + "\n")
        print(f"{name}: loss {fixture['losses'][0]:.6f} to {fixture['losses'][-1]:.6f}")


if __name__ == "__main__":
    main()
