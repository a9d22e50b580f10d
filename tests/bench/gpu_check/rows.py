"""What gpu_check measures, stage by stage. The important rows of a stage come first: the time may end before the rest."""
import dataclasses
import functools
import json
import pathlib
import shutil
import typing
import xml.etree.ElementTree

import engine_runs
import explain
import llmc_gpu_step
import machine_facts
import runner

PRECISIONS = ("fp32", "tf32", "bf16", "fp16", "fp8")
# Precisions with attention in 16 bits, the only ones that cuDNN supports. fp8 rounds the operands of products and keeps bf16
# for attention.
ATTENTION_16_BIT = ("bf16", "fp16", "fp8")
# Batches of each model, the most important first. 350M at 64 is last, because on most cards it does not fit beside a peer.
BATCHES = {"tiny": (64, 4, 1, 16), "124M": (64, 4, 1, 16), "350M": (16, 4, 1, 64), "1558M": (4, 16, 64, 1)}
PEERS = {"": "", "torch": " beside torch eager", "torch-compile": " beside torch.compile", "llmc": " beside llm.c"}
# Relative distance of all gradients to the reference engine's, by norm (fp32 on a CPU, autograd).
GRADIENT_TOLERANCE = {"fp32": 5e-5,  # sums of 24-bit numbers in another order
                      "tf32": 5e-3,  # fp16's 11 bits, in the products only
                      "bf16": 1.5e-2,  # measured on a GPU: 8.58e-3
                      "fp16": 5e-3,  # 3 bits more than bf16
                      "fp8": 2e-1}  # measured on a GPU: 1.27e-1
# (model, batch, peer) -> how many times as fast as the peer we must be: the targets of docs/benchmarks/README.md.
TARGETS = {("124M", 64, "torch-compile"): 1.15, ("124M", 64, "llmc"): 1.10,
           **{("124M", batch, peer): 2.0 for batch in (1, 4) for peer in ("torch-compile", "llmc")},
           **{("tiny", batch, "torch-compile"): 2.0 for batch in BATCHES["tiny"]}}
FP8_TARGET = 1.3
# llm.c keeps its residual stream in bf16, so its targets apply only to rows in which ours is bf16, too.
BF16_RESIDUAL = "bf16-residual"
OWN_ATTENTION = "own-attention"
SAMPLED_TEXTS = (1, 8, 32)
RECOMPUTE_1558M = {1: "gelu", 4: "gelu", 16: "block", 64: "block"}
JUDGED_TAG = {"llmc": BF16_RESIDUAL}
# Precisions whose steps are not part of the half hour: fp32 and tf32 use no 16-bit tensor cores, and FP8 as it is built is
# slower than bf16 at 124M (measured: 33.6 ms against 31.4 at B=16): it rounds both operands of a product in passes of their own.
LATE_PRECISIONS = ("fp32", "tf32", "fp8")
# Seconds that a row of 124M takes, by peer, including our tuning and torch's compilation. One H100 took 5 to 7, 16 to 37, 50 to
# 58, and 22 to 29.
STEP_S = {"": 12, "torch": 30, "torch-compile": 75, "llmc": 35}
STEP_SLOWER = {"tiny": 0.7, "124M": 1, "350M": 1.2, "1558M": 2.5}
KERNELS_S = {"tiny": 8, "124M": 12, "350M": 20, "1558M": 40}
SAMPLE_S = 20
# The first row takes longer, because its caches are empty: our products are tuned and torch compiles for the first time (59 s on
# an H100; a processor with slower cores compiles longer).
HEADLINE_S = 120
# Half an hour with a GPU, less the time to start its machine and to copy the package there.
PLAN_MINUTES = 24
SANITIZED = "cuda_kernels_gpu_test"


@dataclasses.dataclass(frozen=True)
class Row:
    key: str
    title: str
    how: typing.Callable
    expected_s: float = 30  # a row is not started with less time left
    limit_s: float = 240
    judged: tuple | None = None  # its key in TARGETS
    stage: str = ""  # set by of()


def bench(context, *arguments):
    """The report of gp-peer-bench-cuda."""
    command = [context.program("gp-peer-bench-cuda"), *arguments, "-o", "json"]
    return json.loads(runner.run(command, context.timeout, context.environment))


def reason_of(skip):
    """The reason that a test gave for its skip. In a GoogleTest report it follows the line with the place in the source."""
    return skip.get("message").split("\n", 1)[-1].strip()


def is_excused(reason):
    """Whether a skip is accepted: this GPU is too old for the feature, or its cuBLASLt does not have a product with an
    epilogue. In the second case the backend computes the product without the epilogue, which other tests check."""
    return machine_facts.is_lacking(reason) or reason.startswith("cuBLASLt has no ")


def by_reason(skipped):
    """Formats {case: reason} as 'no device: S.a, S.b; no file: S.c'."""
    return "; ".join(f"{reason}: {', '.join(name for name in skipped if skipped[name] == reason)}"
                     for reason in dict.fromkeys(skipped.values()))


def assumption_of(case):
    """The assumption about NVIDIA's libraries that a test recorded, or None."""
    recorded = case.find("properties/property[@name='assumes']")
    return None if recorded is None else recorded.get("value")


def judge_cases(cases):
    """Counts the cases of {name: testcase element} that passed. Raises RuntimeError with the names of cases that failed or were
    skipped without an excuse."""
    failed = [name for name, case in cases.items() if case.find("failure") is not None]
    ours = [name for name in failed if assumption_of(cases[name]) is None]
    if ours:
        raise RuntimeError(f"{len(ours)} of {len(cases)} failed: {', '.join(ours[:6])}")
    if failed:
        assumed = "; ".join(dict.fromkeys(assumption_of(cases[name]) for name in failed))
        raise RuntimeError("what is our own passed; NVIDIA's libraries may do otherwise than the emulation assumes "
                           f"({assumed}): {', '.join(failed[:6])}")
    skips = {name: case.find("skipped") for name, case in cases.items()}
    skipped = {name: reason_of(skip) for name, skip in skips.items() if skip is not None}
    if len(skipped) == len(cases):
        raise runner.Missing(f"every test skipped itself: {', '.join(dict.fromkeys(skipped.values()))}; is there a GPU "
                             "that this process may use?")
    unexcused = {name: reason for name, reason in skipped.items() if not is_excused(reason)}
    if unexcused:
        raise RuntimeError(f"{len(unexcused)} of {len(cases)} were skipped, which only an old GPU or a product that "
                           f"cuBLASLt lacks excuses: {by_reason(unexcused)}")
    return {"passed": len(cases) - len(skipped), "skipped": list(skipped)}


def test_program(name, context):
    """Runs a GoogleTest program and returns the result of judge_cases()."""
    report = context.scratch / f"{name}.xml"  # its JSON lacks the reason of a skipped test
    report.unlink(missing_ok=True)
    failure = None
    try:
        runner.run([context.test(name), f"--gtest_output=xml:{report}"], context.timeout, context.environment)
    except RuntimeError as error:
        failure = error
    if not report.exists():
        raise failure or RuntimeError(f"{name} wrote no report")
    suites = xml.etree.ElementTree.parse(report).getroot()
    judged = judge_cases({f"{suite.get('name')}.{case.get('name')}": case
                          for suite in suites for case in suite.findall("testcase")})
    if failure:
        raise failure
    return judged


def memcheck(context):
    """The kernel tests under NVIDIA's memory checker, which sees the misaligned loads that the emulation cannot."""
    checker = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    if not pathlib.Path(checker).exists():
        raise runner.Missing("no compute-sanitizer; the CUDA toolkit brings it")
    command = [checker, "--tool", "memcheck", "--error-exitcode", "9", context.test(SANITIZED)]
    output = runner.run(command, context.timeout, context.environment)
    return {"text": output.strip().splitlines()[-1]}


def gradients(model, batch, sequence, precision, context, *more):
    return bench(context, "gradients", "--model", model, "--batch", batch, "--sequence", sequence, "--precision", precision,
                 "--tolerance", GRADIENT_TOLERANCE[precision], *more)


def step(model, batch, precision, peer, context, *more):
    steps, block = (200, 50) if model == "tiny" else (20, 5)
    arguments = ["step", "--model", model, "--batch", batch, "--precision", precision, "--steps", steps, "--block", block, *more]
    if peer:
        arguments += ["--peer", peer, "--python", context.python]
    if peer == "llmc":
        need_llmc(context)
        arguments += ["--llmc", context.llmc]
    elif peer and not machine_facts.version_of("torch"):
        raise runner.Missing("this Python has no torch")
    asked = more[more.index("--attention") + 1] if "--attention" in more else "flash"
    return judge_attention(bench(context, *arguments), context, asked)


def judge_attention(report, context, asked="flash"):
    """Returns the report. Raises RuntimeError if other kernels than our own computed attention although these were asked for,
    or other kernels than cuDNN's although these work on this machine."""
    if asked == "own":
        if report["attention"] != "flash":
            raise RuntimeError(f"attention was computed by {report['attention']}, not by our own kernels")
        return report
    if report["precision"] not in ATTENTION_16_BIT or report["attention"].startswith("cudnn"):
        return report
    try:
        engine_runs.need_cudnn(context)
    except runner.Missing:
        return report
    notes = "; ".join(report["notes"]) or "no reason was given"
    raise RuntimeError(f"attention was computed by {report['attention']}, not by cuDNN: {notes}")


def need_llmc(context):
    """Raises Missing with the reason if llm.c cannot be measured here."""
    if not context.llmc:
        raise runner.Missing("no copy of llm.c: pass --llmc DIR")
    lacking = llmc_gpu_step.lacking(context.llmc, "bf16", context.environment)
    if lacking:
        raise runner.Missing("llm.c cannot be built: " + "; ".join(lacking))


def build_llmc(context):
    """Builds llm.c into the cache, where its rows find it."""
    need_llmc(context)
    command = [context.python, llmc_gpu_step.__file__, "--build", context.llmc, "--precision", "bf16"]
    program, attention = runner.run(command, context.timeout, context.environment).strip().split(", ", 1)
    return {"built": f"{pathlib.Path(program).name}, {attention}"}


def compare(model, batch, precision, peer, context, *more):
    """Measures a step and returns the batch and the report. If ours and the peer do not fit into the GPU's memory together,
    tries half the batch; raises DoesNotFit if that does not fit either."""
    try:
        return {"batch": batch, "report": step(model, batch, precision, peer, context, *more)}
    except runner.OutOfMemory as error:
        if batch == 1:
            raise runner.DoesNotFit(f"out of memory at B=1: {error}") from None
        smaller, note = batch // 2, f"out of memory at B={batch}: {error}"
    try:
        return {"batch": smaller, "note": note, "report": step(model, smaller, precision, peer, context, *more)}
    except runner.OutOfMemory as error:
        raise runner.DoesNotFit(f"{note}; at B={smaller}: {error}") from None


def judged_by(model, batch, precision, peer, tag):
    """The key of the step's target in TARGETS, or None."""
    key = (model, batch, peer)
    return key if precision == "bf16" and tag == JUDGED_TAG.get(peer, "") and key in TARGETS else None


def step_row(model, batch, precision, peer, *more, tag=""):
    key = "-".join(filter(None, ("step", model, f"b{batch}", precision, tag, peer)))
    judged = judged_by(model, batch, precision, peer, tag)
    return Row(key, f"{model}, B={batch}, {precision}{' ' + tag if tag else ''}{PEERS[peer]}",
               lambda context: {"model": model, "precision": precision, "peer_key": peer, "tag": tag,
                                "target": TARGETS.get(judged),
                                **compare(model, batch, precision, peer, context, *more)},
               expected_s=STEP_S[peer] * STEP_SLOWER[model], limit_s=420, judged=judged)


def kernels_row(model, batch, precision="bf16", attention="flash"):
    tag = "" if attention == "flash" else f"-{attention}"
    return Row(f"kernels-{model}-b{batch}-{precision}{tag}",
               f"each operation, {model}, B={batch}, {precision}{', attention ' + attention if tag else ''}",
               lambda context: bench(context, "kernels", "--model", model, "--batch", batch, "--precision", precision,
                                     "--attention", attention),
               KERNELS_S[model])


def profile_row(model, batch, precision="bf16"):
    return Row(f"profile-{model}-b{batch}-{precision}", f"where a step's time goes, {model}, B={batch}, {precision}",
               lambda context: bench(context, "step", "--model", model, "--batch", batch, "--precision", precision, "--profile",
                                     "--steps", 5), 20)


def judge_memory(planned, taken):
    """Raises RuntimeError if the engine took more memory than planned."""
    if taken > planned:
        raise RuntimeError(f"the engine took {taken} bytes, {taken - planned} more than gp-peer-bench-cuda plan says")
    return {"planned_bytes": planned, "engine_bytes": taken}


def memory(context):
    """Compares the GPU memory that a step of 124M takes with its plan."""
    flags = ("--model", "124M", "--batch", 64, "--sequence", 1024, "--precision", "bf16")
    return judge_memory(bench(context, "plan", *flags)["training_bytes"],
                        bench(context, "step", *flags, "--steps", 2)["engine_bytes"])


def correctness(context):
    rows = [Row("machine", "the GPU and its libraries", lambda c: machine_facts.facts(c.manifest), 5),
            Row("support", "what a confined trainer finds on this GPU", lambda c: {"text": engine_runs.support_text(c)}, 5)]
    rows += [Row(f"test-{name}", f"{name}: on the GPU against plain loops", functools.partial(test_program, name), 12)
             for name in context.tests]
    rows += [Row(f"gradients-{model}", f"gradients of {model} in fp32 against the reference engine",
                 functools.partial(gradients, model, batch, sequence, "fp32"), 10)
             for model, batch, sequence in (("tiny", 12, 64), ("124M", 2, 128))]
    rows += [Row("graphs", "training with graphs gives the bits of training without", engine_runs.graphs_equal_eager, 8),
             Row("early", "training with early launches gives the bits of training without", engine_runs.early_equals_plain, 8),
             Row("resume", "a run that was interrupted ends with the bits of one that was not", engine_runs.resumes_exactly, 8),
             Row("graphs-cudnn", "graphs, with cuDNN's attention and two micro-batches",
                 engine_runs.with_cudnn(engine_runs.graphs_equal_eager), 8),
             Row("resume-cudnn", "an interrupted run, with cuDNN's attention and two micro-batches",
                 engine_runs.with_cudnn(engine_runs.resumes_exactly), 8),
             Row("nccl-1", "all-reduce through NCCL among one rank",
                 lambda c: bench(c, "allreduce", "--transport", "nccl", "--ranks", 1, "--size", "50MB"), 5)]
    return rows


def attention_gradients(kind, context):
    if kind == "cudnn":
        engine_runs.need_cudnn(context)
    return gradients("124M", 2, 128, "bf16", context, "--attention", kind)


def precision(_):
    rows = [Row(f"gradients-{name}", f"gradients of 124M in {name} against the reference engine's fp32",
                functools.partial(gradients, "124M", 2, 128, name), 12)
            for name in PRECISIONS if name != "fp32"]  # fp32 is covered by correctness
    rows += [Row(f"attention-{kind}", f"the same in bf16 with {kind} attention",
                 functools.partial(attention_gradients, kind), 10)
             for kind in ("math", "own", "cudnn")]
    rows += [changed(Row("gradients-adding-in-products", "gradients of 124M in bf16 with additions inside products",
                         functools.partial(gradients, "124M", 2, 128, "bf16"), 10), engine_runs.adding_in_products)]
    rows += [Row("memcheck", f"{SANITIZED} under compute-sanitizer", memcheck, 30),
             Row("memory", "the engine's memory against its plan, 124M, B=64, T=1024, bf16", memory, 10),
             Row("start", "124M in bf16 from its start to its first step, without and with a tuning cache",
                 engine_runs.starts_soon, 25)]
    return rows + [step_row("124M", 16, name, "") for name in PRECISIONS if name not in LATE_PRECISIONS]


def late_precision(_):
    return [step_row("124M", 16, name, "") for name in LATE_PRECISIONS]


HEADLINE = (("124M", 64, "torch-compile", ""), ("124M", 64, "llmc", BF16_RESIDUAL))


def headline(_):
    """The most important comparison, before all other rows."""
    return [dataclasses.replace(step_row("124M", 64, "bf16", "torch-compile"), expected_s=HEADLINE_S)]


def headline_details(_):
    """Where the headline's time goes, and the same step beside llm.c."""
    return [profile_row("124M", 64), kernels_row("124M", 64),
            Row("llmc-build", "llm.c in bf16, built once", build_llmc, 100, 300), llmc_row("124M", 64, BF16_RESIDUAL),
            Row("clocks", "clocks and power during steps of 124M, B=64, bf16", clocks, 15),
            Row("ncu", "the kernels of a step of 124M, B=64, bf16, as ncu sees them", ncu, 90)]


def headline_step(*more):
    return ("step", "--model", "124M", "--batch", 64, "--precision", "bf16", *more)


def clocks(context):
    """Clocks and power while the headline's step runs."""
    return explain.clocks(lambda: bench(context, *headline_step("--steps", 40)))


def ncu(context):
    """Profiles one step and the one that warms it up, without graphs."""
    command = [context.program("gp-peer-bench-cuda"), *headline_step("--no-graph", "--steps", 1, "--block", 1, "--warmup", 1)]
    return explain.ncu(command, context)


def own_attention(_):
    """Our own attention kernels, timed where cuDNN's work, too."""
    return [kernels_row("124M", 64, "bf16", "own"), step_row("124M", 64, "bf16", "", "--attention", "own", tag=OWN_ATTENTION)]


def sample_row(texts):
    """Texts of the sampler with a cache, written at the same time."""
    return Row(f"sample-124M-b{texts}-bf16", f"sampling 124M, {texts} text{'s' if texts > 1 else ''}, bf16",
               lambda context: bench(context, "sample", "--model", "124M", "--batch", texts, "--precision", "bf16",
                                     "--prompt", 16, "--tokens", 200, "--steps", 5, "--warmup", 1, "--block", 1), SAMPLE_S)


def sampling(_):
    return [sample_row(texts) for texts in SAMPLED_TEXTS]


def is_headline(model, batch, peer, tag=""):
    return (model, batch, peer, tag) in HEADLINE


def beside_torch(model, peers=("torch-compile", "torch")):
    return [step_row(model, batch, "bf16", peer) for peer in peers for batch in BATCHES[model]
            if not is_headline(model, batch, peer)]


def bench_tiny(_):
    return [*beside_torch("tiny"), profile_row("tiny", 64)]


def changed(row, change):
    """The row in the context that `change` makes."""
    return dataclasses.replace(row, how=lambda context: row.how(change(context)))


def plain_launches_row():
    """Times the headline's step without early launches."""
    return changed(step_row("124M", 64, "bf16", "", tag="plain-launches"), engine_runs.plain_launches)


def adding_rows():
    """The headline's step with additions to the residual stream inside products, before and after the step without: whether it
    becomes the default is decided by these."""
    adding = step_row("124M", 64, "bf16", "", tag="adding-in-products")
    return [changed(adding, engine_runs.adding_in_products), step_row("124M", 64, "bf16", "")]


def bench_124m(_):
    return [*adding_rows(), plain_launches_row(), *beside_torch("124M", ("torch-compile",)), profile_row("124M", 4)]


def bench_more(_):
    """Comparisons that take long or decide nothing."""
    return [*beside_torch("124M", ("torch",)), step_row("1558M", 1, "bf16", "torch-compile")]


def bench_350m(_):
    return [profile_row("350M", 16), *beside_torch("350M"), step_row("350M", 64, "bf16", "")]


def bench_1558m(_):
    return [step_row("1558M", batch, "bf16", "", "--recompute", RECOMPUTE_1558M[batch]) for batch in BATCHES["1558M"]]


def bench_fp8(_):
    rows = [step_row("1558M", batch, "fp8", "", "--recompute", RECOMPUTE_1558M[batch]) for batch in BATCHES["1558M"]]
    return [*rows, kernels_row("124M", 64, "fp8"), kernels_row("1558M", 4, "fp8")]


def llmc_row(model, batch, tag):
    more = ("--residual", "bf16") if tag == BF16_RESIDUAL else ()
    return step_row(model, batch, "bf16", "llmc", *more, tag=tag)


def bench_llmc(model, tag, _):
    return [llmc_row(model, batch, tag) for batch in BATCHES[model] if not is_headline(model, batch, "llmc", tag)]


def kernels(_):
    rows = [kernels_row(model, batch) for model in ("124M", "350M", "tiny") for batch in BATCHES[model]
            if (model, batch) != ("124M", 64)]  # covered by headline_details
    return [*rows, kernels_row("1558M", 4)]


def ladder_row(model, batch, tokens_max, expected_s):
    return Row(f"ladder-{model}", f"the ladder, {model}",
               lambda context: bench(context, "ladder", "--model", model, "--batch", batch, "--sequence", 0,
                                     "--tokens-max", tokens_max), expected_s, 400)


def ladder(_):
    return [ladder_row("124M", 4, 131072, 120), ladder_row("tiny", 16, 131072, 60), ladder_row("350M", 4, 65536, 200)]


# The most important stages first.
MAKERS = {"headline": headline, "correctness": correctness, "headline-details": headline_details,
          "precision": precision, "sampling": sampling, "attention": own_attention, "bench-124M": bench_124m,
          "bench-llmc": functools.partial(bench_llmc, "124M", BF16_RESIDUAL), "bench-1558M": bench_1558m, "ladder": ladder,
          "bench-tiny": bench_tiny, "bench-more": bench_more, "kernels": kernels, "late-precision": late_precision, "bench-fp8": bench_fp8,
          "bench-350M": bench_350m,
          "bench-llmc-fp32": functools.partial(bench_llmc, "124M", ""),
          "bench-llmc-350M": functools.partial(bench_llmc, "350M", BF16_RESIDUAL)}
STAGES = (*MAKERS, "report")


def of(stage, context):
    return [dataclasses.replace(row, stage=stage) for row in MAKERS[stage](context)]


def seconds(rows):
    return sum(row.expected_s for row in rows)


def within(rows, results, limit_s):
    """The rows that fit into `limit_s` seconds, the most important first. Rows that are done count with the time that they
    took. A row that does not fit is left out, and a shorter one after it may take its place."""
    free = limit_s - results.seconds()
    chosen = []
    for row in rows:
        if results.is_done(row):
            chosen.append(row)
        elif row.expected_s <= free:
            chosen.append(row)
            free -= row.expected_s
    return chosen
