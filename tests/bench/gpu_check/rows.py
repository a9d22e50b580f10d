"""What gpu_check measures, stage by stage. The important rows of a stage come first: the time may end before the rest."""
import dataclasses
import functools
import json
import typing

import engine_runs
import machine_facts
import runner

STAGES = ("correctness", "precision", "bench-small", "bench-large", "report")
PRECISIONS = ("fp32", "tf32", "bf16", "fp16", "fp8")
BATCHES = (64, 4, 1, 16)
# Relative distance of all gradients to the reference engine's, by norm (fp32 on a CPU, autograd).
GRADIENT_TOLERANCE = {"fp32": 5e-5, "tf32": 5e-3, "bf16": 1e-2, "fp16": 5e-3, "fp8": 1e-1}
# (model, batch, peer) -> at least how many times as fast: the targets of docs/benchmarks/README.md.
TARGETS = {("124M", 64, "torch-compile"): 1.15, ("124M", 64, "llmc"): 1.10,
           **{("124M", batch, peer): 2.0 for batch in (1, 4) for peer in ("torch-compile", "llmc")},
           **{("tiny", batch, "torch-compile"): 2.0 for batch in BATCHES}}
FP8_TARGET = 1.3


@dataclasses.dataclass(frozen=True)
class Row:
    key: str
    title: str
    how: typing.Callable
    expected_s: float = 30  # no row is begun with less time left
    limit_s: float = 240


def bench(context, *arguments):
    """The report of gp-bench-cuda."""
    command = [context.program("gp-bench-cuda"), *arguments, "-o", "json"]
    return json.loads(runner.run(command, context.timeout, context.environment))


def test_program(name, context):
    """How many tests of a GoogleTest program passed; RuntimeError names those that did not."""
    report = context.scratch / f"{name}.json"
    report.unlink(missing_ok=True)
    failure = None
    try:
        runner.run([context.test(name), f"--gtest_output=json:{report}"], context.timeout, context.environment)
    except RuntimeError as error:
        failure = error
    if not report.exists():
        raise failure or RuntimeError(f"{name} wrote no report")
    cases = [(f"{suite['name']}.{case['name']}", case) for suite in json.loads(report.read_text())["testsuites"]
             for case in suite["testsuite"]]
    failed = [case_name for case_name, case in cases if case.get("failures")]
    skipped = [case_name for case_name, case in cases if case.get("result") == "SKIPPED"]
    if failed or failure:
        raise RuntimeError(f"{len(failed)} of {len(cases)} failed: {', '.join(failed[:6])}" if failed else str(failure))
    if len(skipped) == len(cases):
        raise runner.Missing("every test skipped itself: is there a GPU that this process may use?")
    return {"passed": len(cases) - len(skipped), "skipped": skipped}


def gradients(model, batch, sequence, precision, context, *more):
    return bench(context, "gradients", "--model", model, "--batch", batch, "--sequence", sequence, "--precision", precision,
                 "--tolerance", GRADIENT_TOLERANCE[precision], *more)


def step(model, batch, precision, peer, context, *more):
    steps, block = (200, 50) if model == "tiny" else (20, 5)
    arguments = ["step", "--model", model, "--batch", batch, "--precision", precision, "--steps", steps, "--block", block, *more]
    if peer:
        arguments += ["--peer", peer, "--python", context.python]
    if peer == "llmc":
        if not context.llmc:
            raise runner.Missing("no copy of llm.c: pass --llmc DIR")
        arguments += ["--llmc", context.llmc]
    elif peer and not machine_facts.version_of("torch"):
        raise runner.Missing("this Python has no torch")
    return bench(context, *arguments)


def step_row(model, batch, precision, peer, *more, tag=""):
    key = "-".join(filter(None, ("step", model, f"b{batch}", precision, tag, peer)))
    beside = {"": "", "torch": " beside torch eager", "torch-compile": " beside torch.compile", "llmc": " beside llm.c"}[peer]
    slow = {"torch-compile": 100, "llmc": 120}.get(peer, 20)
    return Row(key, f"{model}, B={batch}, {precision}{' ' + tag if tag else ''}{beside}",
               lambda context: {"model": model, "batch": batch, "precision": precision, "peer_key": peer, "tag": tag,
                                "target": TARGETS.get((model, batch, peer)) if precision == "bf16" and not tag else None,
                                "report": step(model, batch, precision, peer, context, *more)},
               expected_s=slow, limit_s=300)


def kernels_row(model, batch, precision="bf16"):
    return Row(f"kernels-{model}-b{batch}-{precision}", f"each operation, {model}, B={batch}, {precision}",
               lambda context: bench(context, "kernels", "--model", model, "--batch", batch, "--precision", precision), 30)


def profile_row(model, batch, precision="bf16"):
    return Row(f"profile-{model}-b{batch}-{precision}", f"where a step's time goes, {model}, B={batch}, {precision}",
               lambda context: bench(context, "step", "--model", model, "--batch", batch, "--precision", precision, "--profile",
                                     "--steps", 5), 20)


def correctness(context):
    rows = [Row("machine", "the GPU and its libraries", lambda c: machine_facts.facts(c.manifest), 5),
            Row("support", "what this GPU supports",
                lambda c: {"text": runner.run([c.program("gp-trainer-cuda"), "--support"], c.timeout, c.environment)}, 5)]
    rows += [Row(f"test-{name}", f"{name}: on the GPU against plain loops", functools.partial(test_program, name), 20)
             for name in context.tests]
    rows += [Row(f"gradients-{model}", f"gradients of {model} in fp32 against the reference engine",
                 functools.partial(gradients, model, batch, sequence, "fp32"), 30)
             for model, batch, sequence in (("tiny", 12, 64), ("124M", 2, 128))]
    rows += [Row("graphs", "training with graphs gives the bits of training without", engine_runs.graphs_equal_eager, 30),
             Row("resume", "a run that was interrupted ends with the bits of one that was not", engine_runs.resumes_exactly, 30),
             Row("nccl-1", "all-reduce through NCCL among one rank",
                 lambda c: bench(c, "allreduce", "--transport", "nccl", "--ranks", 1, "--size", "50MB"), 20)]
    return rows


def precision(_):
    rows = [Row(f"gradients-{name}", f"gradients of 124M in {name} against the reference engine's fp32",
                functools.partial(gradients, "124M", 2, 128, name), 30) for name in PRECISIONS]
    rows += [Row(f"attention-{kind}", f"the same in bf16 with {kind} attention",
                 lambda c, kind=kind: gradients("124M", 2, 128, "bf16", c, "--attention", kind), 30)
             for kind in ("math", "flash", "cudnn")]
    rows += [step_row("124M", 16, name, "") for name in PRECISIONS]
    return rows


def bench_small(_):
    rows = [kernels_row("124M", 64), profile_row("124M", 64), step_row("124M", 64, "bf16", "torch-compile"),
            step_row("124M", 64, "bf16", "llmc"), step_row("tiny", 64, "bf16", "torch-compile"), profile_row("124M", 4)]
    rows += [step_row("124M", batch, "bf16", peer) for peer in ("torch", "torch-compile") for batch in BATCHES]
    rows += [step_row("tiny", batch, "bf16", peer) for peer in ("torch", "torch-compile") for batch in BATCHES]
    rows += [step_row("124M", 64, "bf16", "llmc", "--residual", "bf16", tag="bf16-residual"), step_row("124M", 4, "bf16", "llmc")]
    return list({row.key: row for row in rows}.values())


def ladder(context):
    return bench(context, "ladder", "--model", "124M", "--batch", 4, "--sequence", 1024, "--tokens-max", 131072)


def bench_large(_):
    rows = [Row("ladder-124M", "the ladder, 124M", ladder, 120, 300), kernels_row("350M", 16)]
    rows += [step_row("1558M", 4, name, "", "--recompute", "gelu") for name in ("bf16", "fp8")]
    rows += [step_row("350M", batch, "bf16", peer) for peer in ("torch-compile", "torch") for batch in (16, 4, 1)]
    rows += [step_row("350M", 64, "bf16", ""), step_row("1558M", 1, "bf16", "torch-compile"), step_row("350M", 16, "bf16", "llmc"),
             step_row("1558M", 16, "fp8", "", "--recompute", "block"), step_row("1558M", 16, "bf16", "", "--recompute", "block")]
    return rows


MAKERS = {"correctness": correctness, "precision": precision, "bench-small": bench_small, "bench-large": bench_large}


def of(stage, context):
    return MAKERS[stage](context)


def seconds(rows):
    return sum(row.expected_s for row in rows)
