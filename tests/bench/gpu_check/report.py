"""Writes docs/benchmarks/<gpu>.json and .md from the results of the stages. Every number was measured on that GPU; rows that
were not measured say so and why."""
import datetime
import json

import engine_runs
import machine_facts
import rows

DASH = "–"


def collect(found_by_stage, planned):
    """All rows as {stage: {key: row}}. Rows of `planned` ({stage: rows}) that were not run are added as skipped."""
    results = {}
    for stage, listed in planned.items():
        found = found_by_stage.get(stage, {})
        absent = {row.key: {"title": row.title, "status": "skipped", "reason": "not run"} for row in listed if row.key not in found}
        results[stage] = {**found, **absent}
    return results


def document(results, date=None):
    machine = results["correctness"].get("machine", {})
    return {"apiVersion": "gp/v1", "kind": "GpuReport", "date": date or datetime.date.today().isoformat(),
            "machine": machine.get("data"), "stages": results}


def has_machine(results):
    return "data" in results.stages.get("correctness", {}).get("machine", {})


def name_of(report):
    return report["machine"]["gpu"]["name"]


def data_of(rows_of_stage, kind):
    return [row["data"] for row in rows_of_stage.values() if row["status"] == "ok" and row["data"].get("kind") == kind]


def all_rows(report):
    return {key: row for stage in report["stages"].values() for key, row in stage.items()}


def table(titles, lines):
    if not lines:
        return ["Not measured."]
    return ["| " + " | ".join(titles) + " |", "|" + "---|" * len(titles)] + ["| " + " | ".join(line) + " |" for line in lines]


def outcome(row):
    if row["status"] == "started":
        return "not finished: the call ended while it ran"
    return row["status"] if row["status"] == "ok" else f"{row['status']}: {row['reason']}"


def detail(row):
    """The result of a row of the stages correctness and precision, in a few words."""
    data = row.get("data", {})
    if "passed" in data:
        return f"{data['passed']} passed, {len(data['skipped'])} skipped"
    if data.get("kind") == "GradientCheck":
        return (f"loss {data['loss']:.5f} against {data['reference_loss']:.5f}; gradients differ by {data['gradient_error']:.1e} "
                f"(allowed {data['tolerance']:.1e}), most in {data['worst_tensor']} ({data['worst_error']:.1e})")
    if "last_loss" in data:
        return f"{data['steps']} steps, loss {data['first_loss']:.4f} to {data['last_loss']:.4f}, equal bits"
    if "cold_s" in data:
        return (f"first step {data['cold_s']:.1f} s after a cold start (at most {engine_runs.COLD_S_MAX}), "
                f"{data['warm_s']:.1f} s after a warm one (at most {engine_runs.WARM_S_MAX})")
    if "planned_bytes" in data:
        return f"{data['engine_bytes'] / 1e9:.3f} GB of {data['planned_bytes'] / 1e9:.3f} GB planned"
    if data.get("kind") == "StepBench" or "report" in data:
        step = data.get("report", data)
        return f"{step['step_ms']['median']:.2f} ms a step, {step['tokens_per_second']:,.0f} tokens/s, loss {step['loss']:.3f}"
    return ""


def checks(report):
    lines = [[row["title"], outcome(row), detail(row)] for stage in ("correctness", "precision")
             for key, row in report["stages"][stage].items() if key not in ("machine", "support")]
    return table(["check", "", ""], lines)


def spread(summary):
    return f"{summary['median']:.2f} ({summary['quartile_1']:.2f}–{summary['quartile_3']:.2f})"


def verdict(ratio, target):
    if target is None:
        return ""
    return f"≥ {target:.2f}: met" if ratio >= target else f"≥ {target:.2f}: short by {100 * (1 - ratio / target):.0f} %"


def step_line(row):
    if row["status"] != "ok":
        return [row["title"], DASH, DASH, DASH, DASH, DASH, DASH, f"not measured: {outcome(row)}"]
    data, step = row["data"], row["data"]["report"]
    title = f"{row['title']}; measured at B={data['batch']}, {data['note']}" if "note" in data else row["title"]
    title += f" ({step['attention']} attention)"
    ours = [title, spread(step["step_ms"]), f"{step['tokens_per_second']:,.0f}", f"{100 * step['mfu']:.0f} %"]
    if "peer" not in step:
        return [*ours, DASH, DASH, DASH, ""]
    peer = step["peer"]
    blocks = peer["ratio_by_block"]
    ratio = f"{peer['ratio_of_medians']:.2f} ({blocks['quartile_1']:.2f}–{blocks['quartile_3']:.2f})"
    return [*ours, peer["description"], spread(peer["ms"]), ratio, verdict(peer["ratio_of_medians"], data["target"])]


def steps(report):
    lines = [step_line(row) for key, row in all_rows(report).items() if key.startswith("step-")]
    return table(["step", "ours, ms", "tokens/s", "MFU", "peer", "peer, ms", "ratio (blocks)", "target"], lines)


def median_of(report, key):
    """The median milliseconds of a step; None if it was not measured, or not at the batch of its row."""
    row = all_rows(report).get(key)
    is_there = row and row["status"] == "ok" and "note" not in row["data"]
    return row["data"]["report"]["step_ms"]["median"] if is_there else None


def fp8(report):
    lines = []
    for batch in sorted(rows.BATCHES["1558M"]):
        half, eighth = (median_of(report, f"step-1558M-b{batch}-{name}") for name in ("bf16", "fp8"))
        if half and eighth:
            lines.append(f"- FP8 at 1558M, B={batch}: {half / eighth:.2f} times as fast as bf16 "
                         f"({verdict(half / eighth, rows.FP8_TARGET)}).")
    return lines or ["FP8 at 1558M: not measured."]


def kernel_lines(bench):
    lines = []
    for operation in bench["operations"]:
        rate = (f"{operation['gflops'] / 1e3:.1f} TFLOP/s" if "gflops" in operation
                else f"{operation['gigabytes_per_second']:.0f} GB/s")
        ms, calls = operation["ms"]["median"], operation["calls_per_step"]
        lines.append([operation["name"], operation["shape"], f"{ms:.4f}", rate, f"{100 * operation['of_peak']:.0f} %", str(calls),
                      f"{ms * calls:.3f}"])
    total = sum(operation["ms"]["median"] * operation["calls_per_step"] for operation in bench["operations"])
    return lines + [["all", "", "", "", "", "", f"{total:.2f}"]]


def kernels(report):
    text = []
    for bench in data_of(all_rows(report), "KernelBench"):
        text += [f"### {bench['model']}, {bench['rows']} rows, {bench['precision']}", "",
                 f"Measured peaks of this GPU: {bench['peak_gflops_measured'] / 1e3:.0f} TFLOP/s (a large product in {bench['precision']}), "
                 f"{bench['gigabytes_per_second_measured']:.0f} GB/s (a large copy, read and written).", ""]
        text += table(["operation", "shape", "ms", "rate", "of peak", "calls", "ms a step"], kernel_lines(bench)) + [""]
    return text or ["Not measured."]


def profile(report):
    text = []
    for step in data_of(all_rows(report), "StepBench"):
        if "operations" not in step:
            continue
        phases = ", ".join(f"{name} {step[name + '_ms']:.2f}" for name in ("forward", "backward", "optimizer"))
        total = sum(operation["ms"] for operation in step["operations"])
        text += [f"### {step['model']}, B={step['batch']}, {step['precision']}", "",
                 f"Step {spread(step['step_ms'])} ms: {phases}. By operation, in a step without graphs, {total:.2f} ms:", ""]
        text += table(["operation", "calls", "ms", "share"],
                      [[operation["name"], str(operation["calls"]), f"{operation['ms']:.3f}", f"{100 * operation['ms'] / total:.0f} %"]
                       for operation in step["operations"]]) + [""]
    return text or ["Not measured."]


def sampling(report):
    lines = []
    for sample in data_of(all_rows(report), "SampleBench"):
        roofline = sample["roofline"]
        lines.append([f"{sample['model']}, {sample['batch']} texts, {sample['precision']}", spread(sample["step_ms"]),
                      f"{sample['step_tokens_per_second']:,.0f}", f"{sample['tokens_per_second']:,.0f}",
                      f"{roofline['tokens_per_second']:,.0f}", f"{100 * roofline['share']:.0f} %"])
    return table(["sampling", "a step, ms", "tokens/s of steps", "tokens/s of whole texts", "roofline, tokens/s", "of roofline"], lines)


def clocks(report):
    lines = [[field, f"{values['median']:g}", f"{values['least']:g}"] for found in data_of(all_rows(report), "Clocks")
             for field, values in found["fields"].items()]
    return table(["while steps ran", "median", "least"], lines)


def kernel_profile(report):
    lines = [[f"`{kernel['name'][:80]}`", str(kernel["calls"]), f"{kernel['ms']:.3f}", f"{kernel['sm_percent']:.0f} %",
              f"{kernel['dram_percent']:.0f} %"]
             for found in data_of(all_rows(report), "KernelProfile") for kernel in found["kernels"]]
    return table(["kernel under ncu, two steps", "calls", "ms", "multiprocessors", "memory"], lines)


def ladder(report):
    lines = []
    for climb in data_of(all_rows(report), "Ladder"):
        for rung in climb["rungs"]:
            if "not_climbed" in rung:
                lines.append([rung["name"], rung.get("setting", ""), DASH, DASH, DASH, f"not measured: {rung['not_climbed']}"])
            else:
                lines.append([rung["name"], rung.get("setting", ""), f"{rung['step_ms']['median']:.2f}",
                              f"{rung['tokens_per_second']:,.0f}", f"{rung['gain']:.2f}", "" if rung["kept"] else "not kept"])
    return table(["rung", "setting", "ms", "tokens/s", "gain", ""], lines)


def introduction(report):
    machine = report["machine"]
    gpu = machine["gpu"]
    return [f"# {gpu['name']}", "",
            f"Measured {report['date']} by `scripts/gpu_check` at commit {machine['commit']}. Driver {gpu['driver_version']}, "
            f"{gpu['memory.total']}, compute capability {gpu['compute_cap']}, power limit {gpu['power.limit']}; torch {machine['torch']}, "
            f"Python {machine['python']}, {machine['cores']} cores. Ours and the peer ran in turn in one process tree; medians and "
            "quartiles; a ratio above 1: ours is faster. One GPU: collectives between several were not run.", ""]


def markdown(report):
    parts = [("Checks", checks(report)), ("The training step", steps(report) + [""] + fp8(report)), ("Each operation", kernels(report)),
             ("Where the step's time goes", profile(report)), ("Clocks and power", clocks(report)),
             ("Kernels under ncu", kernel_profile(report)), ("Sampling", sampling(report)), ("The ladder", ladder(report))]
    text = introduction(report)
    for title, lines in parts:
        text += [f"## {title}", "", *lines, ""]
    return "\n".join(text).rstrip("\n") + "\n"


def write(results, folder, planned, date=None):
    """Writes both files into `folder` and returns their paths. Raises RuntimeError if no GPU was seen."""
    report = document(collect(results.stages, planned), date)
    if not report["machine"]:
        raise RuntimeError(f"no GPU was seen yet: {results.path} has no machine; run --stage correctness first")
    folder.mkdir(parents=True, exist_ok=True)
    slug = machine_facts.slug(name_of(report))
    texts = {".json": json.dumps(report, indent=1) + "\n", ".md": markdown(report)}
    paths = []
    for suffix, text in texts.items():
        path = folder / (slug + suffix)
        path.write_text(text, encoding="utf-8")
        paths.append(path)
    return paths
