"""Rows that run gp-trainer-cuda: a small model from beginning to end, whose losses are compared bit for bit, and the
start of a run of 124M."""
import copy
import json
import random
import re
import shutil

import runner

STEPS = 24
RUN_FILE = """apiVersion: gp/v1
name: gpu-check
deterministic: true
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
# cuDNN's attention does not support dropout. With two micro-batches, gradients are also accumulated.
CUDNN = ("engine.attention=cudnn", "model.dropout=0", f"batch.total_tokens={2 * 8 * 128}")
START_FILE = """apiVersion: gp/v1
name: gpu-start
precision: bf16
deterministic: false
model: {{n_layer: 12, n_head: 12, n_embd: 768, n_ctx: 1024, vocab: 50257, pad_vocab_to: 128}}
data: {{text: [{text}], tokenizer: bytes}}
batch: {{micro_batch: 8, sequence: 1024}}
budget: {{steps: {steps}}}
eval: {{every: 0, batches: 1}}
resources: {{device: gpu}}
"""
START_STEPS = 2
# Seconds from the start of the trainer to the end of its first step.
COLD_S_MAX, WARM_S_MAX = 60, 5
FIRST_STEP = re.compile(r" first step .*\bafter_s=([\d.]+)")
WORDS = "the model reads a word and then another until the page is full and the loss is small".split()


def write_run_file(folder, template=RUN_FILE, steps=STEPS):
    """A run file and its text; the same on every machine."""
    choose = random.Random(1)
    text = folder / "words.txt"
    text.write_text(" ".join(choose.choice(WORDS) for _ in range(40_000)), encoding="utf-8")
    path = folder / "run.yaml"
    path.write_text(template.format(text=text, steps=steps), encoding="utf-8")
    return path


def losses(directory):
    """{step: (loss, gradient norm)} from metrics.jsonl. For a step that was trained twice, the later values count."""
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
    """Summarises two equal runs. Raises RuntimeError with the first step that differs."""
    if sorted(first) != sorted(second) or not first:
        raise RuntimeError(f"{len(first)} steps against {len(second)}")
    for step in sorted(first):
        if first[step] != second[step]:
            raise RuntimeError(f"step {step}: loss and gradient norm differ: {first[step]} and {second[step]}")
    return {"steps": len(first), "first_loss": first[min(first)][0], "last_loss": first[max(first)][0]}


def graphs_equal_eager(context, *settings):
    return compare(train(context, "graphs", "engine.graph=true", *settings),
                   train(context, "eager", "engine.graph=false", *settings))


def with_variable(context, name, value):
    """The same context with another variable in the environment of its programs."""
    changed = copy.copy(context)
    changed.environment = {**context.environment, name: value}
    return changed


def plain_launches(context):
    """The same context without early launches: each kernel starts after the previous one has ended (cuda/runtime/launch.h)."""
    return with_variable(context, "GP_EARLY_LAUNCH", "0")


def adding_in_products(context):
    """The same context in which the last product of a block adds its result to the residual stream
    (cuda_device_backend.cc)."""
    return with_variable(context, "GP_ADD_IN_PRODUCTS", "1")


def early_equals_plain(context):
    return compare(train(context, "early"), train(plain_launches(context), "plain"))


def resumes_exactly(context, *settings):
    whole = train(context, "whole", *settings)
    train(context, "parts", f"budget.steps={STEPS // 2}", *settings)
    return compare(whole, train(context, "parts", *settings, fresh=False))


def support_text(context):
    """The output of `gp-trainer-cuda --support`, JSON about the GPUs that it can use; requested once per call of gpu_check."""
    if context.support is None:
        context.support = runner.run([context.program("gp-trainer-cuda"), "--support"], context.timeout, context.environment)
    return context.support


def need_cudnn(context):
    """Raises Missing with the reason if this machine cannot compute attention with cuDNN."""
    support = json.loads(support_text(context))
    reasons = [support["problem"]]
    reasons += [library["problem"] for library in support["libraries"] if library["name"] == "cuDNN"]
    reasons += [mode["why"] for device in support["devices"][:1] for mode in device["modes"]
                if mode["name"] == "cudnn attention"]
    reason = next(filter(None, reasons), None)
    if reason:
        raise runner.Missing(f"no cuDNN attention: {reason}")


def with_cudnn(check):
    """The same check with settings that let only cuDNN compute attention."""
    def run(context):
        need_cudnn(context)
        return check(context, *CUDNN)

    return run


def seconds_to_first_step(log):
    found = FIRST_STEP.search(log)
    if not found:
        raise RuntimeError("gp-trainer-cuda logged no 'first step' with after_s: take it and this check from the same "
                           "commit")
    return float(found[1])


def judge_start(cold, warm):
    """Raises RuntimeError when a start takes too long."""
    if cold > COLD_S_MAX or warm > WARM_S_MAX:
        raise RuntimeError(f"the first step ended {cold:.1f} s after a cold start (at most {COLD_S_MAX}) and "
                           f"{warm:.1f} s after a warm one (at most {WARM_S_MAX})")
    return {"cold_s": cold, "warm_s": warm}


def starts_soon(context):
    """Measures two starts: the first has to choose matrix products by timing, the second finds these choices in the cache."""
    cache = context.scratch / "cache"
    shutil.rmtree(cache, ignore_errors=True)
    environment = dict(context.environment, XDG_CACHE_HOME=str(cache))
    run_file = write_run_file(context.scratch, START_FILE, START_STEPS)
    directory = context.scratch / "start"
    seconds = []
    for _ in range(2):
        shutil.rmtree(directory, ignore_errors=True)
        command = [context.program("gp-trainer-cuda"), "--spec", run_file, "--out", directory]
        seconds.append(seconds_to_first_step(runner.complete(command, context.timeout, environment).stderr))
    shutil.rmtree(directory, ignore_errors=True)
    return judge_start(*seconds)
