#!/usr/bin/env python3
"""How long gp and nanoGPT take to nanoGPT's loss on its CPU model and data: ours from `gpctl submit` to the sealed checkpoint
of configs/runs/shakespeare-char-cpu-fast.yaml, nanoGPT's recipe on torch from its first iteration to its last, in turn. The
weights of both are judged on the whole validation split by the same code.

    tests/bench/time_to_loss.py [--seeds 3] [--text FILE] [--peer-ways all|eager] [--write] [-o json]

The peer runs in the fastest of its ways (eager or compiled, fp32 or bf16), which a short run of each finds out; compiling is
part of its time. --write publishes docs/benchmarks/time-to-loss.md and its picture, and the data for them. Run it on a quiet
machine.
"""
import argparse
import datetime
import json
import pathlib
import statistics
import sys
import tempfile
import textwrap
import time

import layout
import loss_chart
import machine
import recipe_rows
import run_table

RECIPE = layout.ROOT / "configs/runs/shakespeare-char-cpu-fast.yaml"
TARGET_LOSS = 1.889  # on the whole validation split, mean over the seeds
PEER_ITERATIONS = 2000
PROSE_COLUMNS = 120
TRIAL_ITERATIONS = 60
WAYS = {"eager fp32": [], "eager bf16": ["--precision", "bf16"], "compiled fp32": ["--compile"],
        "compiled bf16": ["--compile", "--precision", "bf16"]}


def fastest_way(options):
    """The way in which the peer would be first through its recipe, with the forecast of each in seconds."""
    forecasts = {}
    for name in WAYS if options.peer_ways == "all" else ["eager fp32"]:
        try:
            trial = recipe_rows.peers_program("--text", options.text, "--iterations", TRIAL_ITERATIONS, *WAYS[name])
        except RuntimeError as error:
            print(f"time_to_loss: {name} is left out: {error}", file=sys.stderr)
            continue
        rest = (PEER_ITERATIONS - TRIAL_ITERATIONS) * trial["iteration_ms"] / 1e3
        forecasts[name] = trial["wall_seconds"] + rest
    return min(forecasts, key=forecasts.get), forecasts


def run_ours(service, options, seed):
    """One run with its wall seconds, its loss and its curve: pairs of seconds since the submit and the training loss."""
    name = f"fast-{seed}"
    begin, start = time.time(), time.perf_counter()
    service.gpctl("submit", str(RECIPE), "--name", name, "--wait", "--set", f"data.text={options.text}", "--set", f"seed={seed}")
    wall = time.perf_counter() - start
    points = [json.loads(line) for line in service.gpctl("metrics", name, "--format", "json").splitlines()]
    curve = [[datetime.datetime.fromisoformat(point["at"].replace("Z", "+00:00")).timestamp() - begin, point["loss"]]
             for point in points]
    return {"wall_seconds": wall, "curve": curve, "steps": points[-1]["step"], "first_step_seconds": curve[0][0],
            "step_ms": 1e3 * statistics.median(point["step_seconds"] for point in points),
            "optimizer_ms": 1e3 * statistics.median(point["phases"]["optimizer"] for point in points),
            "validation_loss": recipe_rows.judge(newest_weights(service, name), options)}


def newest_weights(service, name):
    checkpoints = json.loads(service.gpctl("ckpt", "list", name, "-o", "json"))["items"]
    newest = max(checkpoints, key=lambda checkpoint: checkpoint["step"])
    return pathlib.Path(newest["directory"]) / "model.safetensors"


def run_peer(options, way, seed):
    return recipe_rows.peers_program("--text", options.text, "--seed", seed, "--iterations", PEER_ITERATIONS, "--curve",
                                     *WAYS[way])


def measure(options):
    way, forecasts = fastest_way(options)
    ours, peers = [], []
    with tempfile.TemporaryDirectory() as scratch, recipe_rows.Service(scratch + "/service") as service:
        for seed in range(1337, 1337 + options.seeds):
            ours.append(run_ours(service, options, seed))
            peers.append(run_peer(options, way, seed))
            print(f"seed {seed}: ours {ours[-1]['wall_seconds']:.2f} s, loss {ours[-1]['validation_loss']:.4f}; nanoGPT "
                  f"{peers[-1]['wall_seconds']:.2f} s, loss {peers[-1]['validation_loss']:.4f}", file=sys.stderr, flush=True)
    return {"machine": machine.description(), "date": datetime.date.today().isoformat(), "text": options.text.name,
            "peer_way": way, "peer_forecasts": forecasts, "ours": ours, "peers": peers}


def mean_of(runs, key):
    return statistics.fmean(run[key] for run in runs)


def middle_of(runs, key):
    return statistics.median(run[key] for run in runs)


def ratios(result):
    return [peer["wall_seconds"] / mine["wall_seconds"] for mine, peer in zip(result["ours"], result["peers"])]


def verdict(result):
    loss, seeds = mean_of(result["ours"], "validation_loss"), len(result["ours"])
    if seeds < 3:
        return f"{seeds} seed{'s' * (seeds > 1)}: the loss is not judged"
    reached = loss <= TARGET_LOSS
    return f"mean loss {loss:.4f}, {'at most' if reached else 'ABOVE'} {TARGET_LOSS}"


def table(result):
    ours, peers = result["ours"], result["peers"]
    ratio = ratios(result)
    lines = ["| seed | gp, s | loss | nanoGPT, s | loss | ratio |", "|---|---|---|---|---|---|"]
    for index, (mine, peer) in enumerate(zip(ours, peers)):
        lines.append(f"| {1337 + index} | {mine['wall_seconds']:.2f} | {mine['validation_loss']:.4f} | "
                     f"{peer['wall_seconds']:.2f} | {peer['validation_loss']:.4f} | {ratio[index]:.2f}× |")
    lines.append(f"| median; of losses the mean | {middle_of(ours, 'wall_seconds'):.2f} | "
                 f"{mean_of(ours, 'validation_loss'):.4f} | {middle_of(peers, 'wall_seconds'):.2f} | "
                 f"{mean_of(peers, 'validation_loss'):.4f} | {statistics.median(ratio):.2f}× |")
    return "\n".join(lines)


def details(result):
    ours, peers = result["ours"], result["peers"]
    forecasts = ", ".join(f"{way} {seconds:.0f} s" for way, seconds in result["peer_forecasts"].items())
    text = (f"gp: {ours[0]['steps']} steps of {middle_of(ours, 'step_ms'):.1f} ms, of which the optimizer takes "
            f"{middle_of(ours, 'optimizer_ms'):.1f}; the first step ends {middle_of(ours, 'first_step_seconds'):.2f} s after the "
            f"submit. nanoGPT: {PEER_ITERATIONS} iterations of {middle_of(peers, 'iteration_ms'):.1f} ms, {result['peer_way']}, "
            f"the fastest of its ways on this machine (forecasts: {forecasts}).")
    return textwrap.fill(text, width=PROSE_COLUMNS)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--text", type=pathlib.Path, help="tiny Shakespeare (default: .deps/text/tinyshakespeare.txt)")
    parser.add_argument("--peer-ways", choices=("all", "eager"), default="all")
    parser.add_argument("--write", action="store_true", help="publish in docs/benchmarks")
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text")
    options = parser.parse_args()
    options.text = (options.text or run_table.default_text()).resolve()
    return options


def publish(result):
    (layout.PUBLISHED / "time-to-loss.json").write_text(json.dumps(loss_chart.thinned(result)) + "\n")
    (layout.PUBLISHED / "time-to-loss.svg").write_text(loss_chart.draw(result, TARGET_LOSS))
    page = layout.PUBLISHED / "time-to-loss.md"
    marks = ("<!-- measured -->", "<!-- end -->")
    before, _, rest = page.read_text().partition(marks[0])
    _, _, after = rest.partition(marks[1])
    picture = "![training loss over seconds, gp and nanoGPT](time-to-loss.svg)"
    measured = f"{picture}\n\n{result['machine']}, {result['date']}.\n\n{table(result)}\n\n{details(result)}"
    page.write_text(f"{before}{marks[0]}\n{measured}\n{marks[1]}{after}")


def main():
    options = parse_arguments()
    result = measure(options)
    if options.output == "json":
        print(json.dumps(result))
    else:
        print(f"{result['machine']}\n\n{table(result)}\n\n{details(result)}\n{verdict(result)}")
    if options.write:
        publish(result)
    missed = len(result["ours"]) >= 3 and mean_of(result["ours"], "validation_loss") > TARGET_LOSS
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
