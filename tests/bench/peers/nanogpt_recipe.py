"""nanoGPT's CPU recipe as a program, written from its published settings: trains the character model on a text with random
windows, evaluates 20 batches of both splits every 250 iterations as nanoGPT does, and saves the weights.

    nanogpt_recipe.py --text FILE --weights OUT.safetensors [--seed 1337] [--compile] [--precision bf16] [--threads N]
    nanogpt_recipe.py --text FILE --judge WEIGHTS.safetensors     the loss on the whole validation split, for any weights

The last line of its output is one JSON object: wall_seconds (training and its evaluations), milliseconds of an iteration,
the last estimate of the validation loss, and the loss on the whole validation split (not part of wall_seconds).
"""
import argparse
import contextlib
import json
import math
import statistics
import time

import torch

import recipe_model
from recipe_model import SETTINGS


def learning_rate(iteration):
    if iteration < SETTINGS.warmup:
        return SETTINGS.learning_rate * (iteration + 1) / (SETTINGS.warmup + 1)
    progress = (iteration - SETTINGS.warmup) / (SETTINGS.iterations - SETTINGS.warmup)
    low, high = SETTINGS.min_learning_rate, SETTINGS.learning_rate
    return low + 0.5 * (1 + math.cos(math.pi * progress)) * (high - low)


def make_optimizer(model):
    parameters = list(model.parameters())
    groups = [{"params": [p for p in parameters if p.dim() >= 2], "weight_decay": SETTINGS.weight_decay},
              {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=SETTINGS.learning_rate, betas=SETTINGS.betas)


@torch.no_grad()
def estimate_losses(run, text, precision):
    losses = {}
    for name, split in (("train", text.train), ("validation", text.validation)):
        batches = []
        for _ in range(SETTINGS.eval_batches):
            with precision():
                batches.append(run(*text.batch(split)).item())
        losses[name] = statistics.fmean(batches)
    return losses


def train(arguments, text):
    torch.manual_seed(arguments.seed)
    model = recipe_model.make_model(text.vocabulary)
    optimizer = make_optimizer(model)
    run = torch.compile(model) if arguments.compile else model

    def precision():
        half = arguments.precision == "bf16"
        return torch.autocast("cpu", dtype=torch.bfloat16) if half else contextlib.nullcontext()

    start, iteration_ms, curve, losses = time.perf_counter(), [], [], {}
    for iteration in range(arguments.iterations + 1):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(iteration)
        if iteration % SETTINGS.eval_interval == 0:
            losses = estimate_losses(run, text, precision)
        if iteration == arguments.iterations:
            break
        begin = time.perf_counter()
        with precision():
            loss = run(*text.batch(text.train))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), SETTINGS.clip)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        value = loss.item()
        iteration_ms.append(1e3 * (time.perf_counter() - begin))
        curve.append([time.perf_counter() - start, value])
    wall = time.perf_counter() - start
    if arguments.weights:
        recipe_model.save(model, arguments.weights)
    return {"wall_seconds": wall, "iteration_ms": statistics.median(iteration_ms),
            "validation_estimate": losses.get("validation"), **({"curve": curve} if arguments.curve else {}),
            "validation_loss": recipe_model.full_split_loss(model, text.validation)}


def judge(path, text):
    model = recipe_model.make_model(text.vocabulary)
    recipe_model.load(model, path)
    return {"validation_loss": recipe_model.full_split_loss(model, text.validation)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", required=True)
    parser.add_argument("--weights")
    parser.add_argument("--judge")
    parser.add_argument("--seed", type=int, default=1337)
    parser.add_argument("--iterations", type=int, default=SETTINGS.iterations)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--curve", action="store_true", help="print the training loss of each iteration and its time, too")
    arguments = parser.parse_args()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    text = recipe_model.Text(arguments.text)
    result = judge(arguments.judge, text) if arguments.judge else train(arguments, text)
    print(json.dumps({"torch": torch.__version__, "threads": torch.get_num_threads(), **result}))


if __name__ == "__main__":
    main()
