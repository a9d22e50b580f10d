"""What explains a slow number: clocks and power while a step runs, and the kernels of a step as ncu sees them."""
import csv
import io
import shutil
import statistics
import subprocess
import tempfile

import runner

SAMPLED = ("clocks.sm", "clocks.mem", "power.draw", "temperature.gpu", "utilization.gpu")
SAMPLE_MS = 100
BUSY_PERCENT = 90  # samples with less utilization are of the program's start
METRICS = {"gpu__time_duration.sum": "ns", "sm__throughput.avg.pct_of_peak_sustained_elapsed": "sm_percent",
           "dram__throughput.avg.pct_of_peak_sustained_elapsed": "dram_percent"}
KERNELS_LISTED = 20


def parse_samples(text):
    """The samples of nvidia-smi as {field: number}; lines that are no samples are left out."""
    samples = []
    for line in text.splitlines():
        try:
            values = [float(value) for value in line.split(",")]
        except ValueError:
            continue
        if len(values) == len(SAMPLED):
            samples.append(dict(zip(SAMPLED, values)))
    return samples


def summarize(samples):
    """Least and median of each field while the GPU was busy. Raises Missing if it never was."""
    busy = [sample for sample in samples if sample["utilization.gpu"] >= BUSY_PERCENT]
    if not busy:
        raise runner.Missing(f"none of {len(samples)} samples of nvidia-smi shows a busy GPU")
    fields = {field: [sample[field] for sample in busy] for field in SAMPLED}
    return {"kind": "Clocks", "samples": len(busy),
            "fields": {field: {"least": min(values), "median": statistics.median(values)} for field, values in fields.items()}}


def clocks(work):
    """Samples the first GPU while work() runs."""
    command = ["nvidia-smi", "--id=0", f"--query-gpu={','.join(SAMPLED)}", "--format=csv,noheader,nounits", f"--loop-ms={SAMPLE_MS}"]
    with tempfile.TemporaryFile("w+") as output:
        with runner.Group() as group:
            group.start(command, stdout=output, stderr=subprocess.DEVNULL)
            work()
        output.seek(0)
        return summarize(parse_samples(output.read()))


def kernels_of(text):
    """Sums ncu's CSV by kernel: calls, milliseconds, and means of the shares of peak, weighted by time; the longest first."""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    calls = {}
    for line in csv.DictReader(io.StringIO("\n".join(lines))):
        values = calls.setdefault(line["ID"], {"name": line["Kernel Name"]})
        if line["Metric Name"] in METRICS:
            values[METRICS[line["Metric Name"]]] = float(line["Metric Value"].replace(",", ""))
    kernels = {}
    for call in calls.values():
        kernel = kernels.setdefault(call["name"], {"name": call["name"], "calls": 0, "ms": 0.0, "sm_percent": 0.0, "dram_percent": 0.0})
        milliseconds = call["ns"] / 1e6
        kernel["calls"] += 1
        kernel["ms"] += milliseconds
        for share in ("sm_percent", "dram_percent"):
            kernel[share] += call[share] * milliseconds
    for kernel in kernels.values():
        for share in ("sm_percent", "dram_percent"):
            kernel[share] /= kernel["ms"]
    return sorted(kernels.values(), key=lambda kernel: -kernel["ms"])[:KERNELS_LISTED]


def ncu(command, context):
    """The kernels of a program under NVIDIA's profiler. Raises Missing where it cannot profile."""
    program = shutil.which("ncu") or shutil.which("/usr/local/cuda/bin/ncu")
    if not program:
        raise runner.Missing("no ncu; the CUDA toolkit brings it")
    profiled = [program, "--csv", "--print-units", "base", "--metrics", ",".join(METRICS), "--", *command]
    try:
        text = runner.run(profiled, context.timeout, context.environment)
    except runner.OutOfTime:
        raise
    except RuntimeError as error:
        raise runner.Missing(f"ncu does not profile here; it may lack the right to read performance counters: {error}") from None
    kernels = kernels_of(text)
    if not kernels:
        raise runner.Missing("ncu profiled no kernel")
    return {"kind": "KernelProfile", "kernels": kernels}
