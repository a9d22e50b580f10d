"""The peer of `gp-peer-bench step`: a GPT-2 training step in plain PyTorch, as nanoGPT sets it up, eager or compiled.

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
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1], device=tokens.device))
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


class Step:
    """nanoGPT's step on a fixed batch: forward under autocast, backward, clip, AdamW. Precision on a GPU follows its
    train.py too: TF32 is allowed beside bf16 and fp16, and fp16 has a gradient scaler."""
    HALVES = {"bf16": torch.bfloat16, "fp16": torch.float16}

    def __init__(self, arguments):
        self.device = arguments.device
        self.half = self.HALVES.get(arguments.precision)
        if arguments.precision != "fp32":
            torch.set_float32_matmul_precision("high")
        self.model = Gpt(arguments).to(self.device)
        self.run = torch.compile(self.model) if arguments.compile else self.model
        self.optimizer, self.optimizer_kind = make_optimizer(self.model)
        self.scaler = torch.amp.GradScaler(self.device, enabled=arguments.precision == "fp16")
        ids = torch.randint(0, arguments.vocabulary, (arguments.batch, arguments.sequence + 1), device=self.device)
        self.tokens, self.targets = ids[:, :-1].contiguous(), ids[:, 1:].contiguous()

    def queue(self):
        """Queues a step without waiting for it; on a GPU, waiting would take most of its time."""
        with torch.autocast(self.device, dtype=self.half) if self.half else contextlib.nullcontext():
            loss = self.run(self.tokens, self.targets)
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad(set_to_none=True)
        return loss

    def once(self):
        return self.queue().item()

    def on_gpu(self, count):
        """Milliseconds of each of `count` steps by the GPU's own clock. Waits only after the last step."""
        marks = [torch.cuda.Event(enable_timing=True) for _ in range(count + 1)]
        marks[0].record()
        for mark in marks[1:]:
            self.queue()
            mark.record()
        torch.cuda.synchronize()
        return [first.elapsed_time(second) for first, second in zip(marks, marks[1:])]


def main():
    arguments = parse_arguments()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(1337)
    step = Step(arguments)
    mode = "eager"
    if arguments.compile:
        mode = "compiled"
        step.once()
    where = torch.cuda.get_device_name() if step.device == "cuda" else f"{torch.get_num_threads()} threads"
    description = f"torch {torch.__version__} {mode}, {step.optimizer_kind} AdamW, {where}"
    if step.device == "cuda":
        protocol.serve(description, many=step.on_gpu)
    else:
        protocol.serve(description, step.once)


if __name__ == "__main__":
    main()
