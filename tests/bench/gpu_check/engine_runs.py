"""Rows that train a small model from beginning to end with gp-trainer-cuda and compare the losses bit for bit."""
import json
import random
import shutil

import runner

STEPS = 24
RUN_FILE = """apiVersion: gp/v1
name: gpu-check
precision: bf16
model: {{n_layer: 4, n_head: 4, n_embd: 256, n_ctx: 128, dropout: 0.1, pad_vocab_to: 64}}
data: {{text: [{text}], tokenizer: bytes}}
batch: {{micro_batch: 8, sequence: 128}}
budget: {{steps: {steps}}}
schedule: {{decay_steps: {steps}}}
eval: {{every: 0}}
checkpoint: {{every: 8}}
resources: {{device: gpu}}
"""
WORDS = "the model reads a word and then another until the page is full and the loss is small".split()


def write_run_file(folder):
    """A run file and its text; the same on every machine."""
    choose = random.Random(1)
    text = folder / "words.txt"
    text.write_text(" ".join(choose.choice(WORDS) for _ in range(40_000)), encoding="utf-8")
    path = folder / "run.yaml"
    path.write_text(RUN_FILE.format(text=text, steps=STEPS), encoding="utf-8")
    return path


def losses(directory):
    """Loss and gradient norm of each step as they were written; of a step that was trained twice the later one."""
    points = {}
    for line in (directory / "metrics.jsonl").read_text(encoding="utf-8").splitlines():
        point = json.loads(line)
        if "loss" in point:
            points[point["step"]] = (point["loss"], point.get("grad_norm"))
    return points


def train(context, name, *settings, fresh=True):
    directory = context.scratch / name
    if fresh:
        shutil.rmtree(directory, ignore_errors=True)
    command = [context.program("gp-trainer-cuda"), "--spec", write_run_file(context.scratch), "--out", directory]
    for setting in settings:
        command += ["--set", setting]
    runner.run(command, context.timeout, context.environment)
    return losses(directory)


def compare(first, second):
    """What both have in common, or RuntimeError with the first step that differs."""
    if sorted(first) != sorted(second) or not first:
        raise RuntimeError(f"{len(first)} steps against {len(second)}")
    for step in sorted(first):
        if first[step] != second[step]:
            raise RuntimeError(f"step {step}: loss and gradient norm {first[step]} against {second[step]}")
    return {"steps": len(first), "first_loss": first[min(first)][0], "last_loss": first[max(first)][0]}


def graphs_equal_eager(context):
    return compare(train(context, "graphs", "engine.graph=true"), train(context, "eager", "engine.graph=false"))


def resumes_exactly(context):
    whole = train(context, "whole")
    train(context, "parts", f"budget.steps={STEPS // 2}")
    return compare(whole, train(context, "parts", fresh=False))
