"""The peer of `gp-bench step`: a GPT-2 training step in plain PyTorch, as nanoGPT sets it up, eager or compiled.

Written from nanoGPT's published settings (pre-LayerNorm blocks, fused attention, tied head, AdamW with decay on matrices,
clipping at 1.0). --compile passes the model through torch.compile before it is ready, which takes a minute or more.
"""
import argparse
import contextlib

import torch
from torch import nn
from torch.nn import functional as F

import protocol


class Attention(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.heads = shape.heads
        self.c_attn = nn.Linear(shape.channels, 3 * shape.channels, bias=shape.bias)
        self.c_proj = nn.Linear(shape.channels, shape.channels, bias=shape.bias)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (part.view(b, t, self.heads, c // self.heads).transpose(1, 2)
                   for part in self.c_attn(x).split(c, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).reshape(b, t, c))


class Block(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.ln_1 = nn.LayerNorm(shape.channels, bias=shape.bias)
        self.attn = Attention(shape)
        self.ln_2 = nn.LayerNorm(shape.channels, bias=shape.bias)
        self.c_fc = nn.Linear(shape.channels, 4 * shape.channels, bias=shape.bias)
        self.c_proj = nn.Linear(4 * shape.channels, shape.channels, bias=shape.bias)
        self.approximate = "tanh" if shape.gelu == "tanh" else "none"

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.c_proj(F.gelu(self.c_fc(self.ln_2(x)), approximate=self.approximate))


class Gpt(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.wte = nn.Embedding(shape.vocabulary, shape.channels)
        self.wpe = nn.Embedding(shape.context, shape.channels)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.ln_f = nn.LayerNorm(shape.channels, bias=shape.bias)
        self.lm_head = nn.Linear(shape.channels, shape.vocabulary, bias=False)
        self.lm_head.weight = self.wte.weight
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, tokens, targets):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))


def make_optimizer(model):
    parameters = list(model.parameters())
    groups = [{"params": [p for p in parameters if p.dim() >= 2], "weight_decay": 0.1},
              {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0}]
    try:
        return torch.optim.AdamW(groups, lr=1e-4, betas=(0.9, 0.95), fused=True), "fused"
    except RuntimeError:
        return torch.optim.AdamW(groups, lr=1e-4, betas=(0.9, 0.95)), "foreach"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    protocol.add_step_arguments(parser)
    parser.add_argument("--compile", action="store_true")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(1337)
    model = Gpt(arguments)
    optimizer, optimizer_kind = make_optimizer(model)
    ids = torch.randint(0, arguments.vocabulary, (arguments.batch, arguments.sequence + 1))
    tokens, targets = ids[:, :-1].contiguous(), ids[:, 1:].contiguous()
    run = torch.compile(model) if arguments.compile else model

    def step():
        half = arguments.precision == "bf16"
        with torch.autocast("cpu", dtype=torch.bfloat16) if half else contextlib.nullcontext():
            loss = run(tokens, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.item()

    mode = "eager"
    if arguments.compile:
        mode = "compiled"
        step()
    protocol.serve(f"torch {torch.__version__} {mode}, {optimizer_kind} AdamW, {torch.get_num_threads()} threads", step)


if __name__ == "__main__":
    main()
