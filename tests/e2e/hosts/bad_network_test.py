"""One run on two hosts with a slow, unreliable network: limited rate, a delay in each direction, connections of the ranks and
of the agent that are cut at seeded moments, and a period of silence. The run's result is byte-identical to the same run on one
node. With the argument `encrypted` the ranks encrypt their messages, and the run is shorter. GP_TEST_SEED=N replays one seed.
Executes the commands of docs/operations/two-nodes.md."""

import json
import os
import pathlib
import random
import re
import sys

import network
import wire
from waiting import wait_for  # importing network adds the folder to sys.path

ENCRYPTED = sys.argv[1:] == ["encrypted"]
STEPS = 100 if ENCRYPTED else 200
CHECKPOINT_EVERY = 20
RATE_MBIT = 100
DELAY_SECONDS = 0.020
CUTS_OF_EACH_KIND = 1 if ENCRYPTED else 3
SILENT_STEP = 0.95 * STEPS
# Longer than an agent may be delayed by a busy machine.
LEASE_SECONDS = 12
SETTINGS = {"GP_COORDINATOR_AGENTS_LEASE": f"{LEASE_SECONDS}s", "GP_COORDINATOR_GRADIENTS_ENCRYPTED": str(ENCRYPTED).lower()}
# The first bytes of the greeting between ranks (docs/formats/collectives.md).
GREETING = b"gps4" if ENCRYPTED else b"gpc4"


def on_one_node(host, storage):
    """Trains the same run with both ranks on one node."""
    storage.mkdir()
    host.run(f"gpctl up --detach --workers 2 --storage-root {storage}")
    host.run("gpctl submit run.yaml")
    host.run("gpctl wait both")
    host.run("gpctl down")


def last_checkpoint(storage):
    found = sorted(storage.glob(f"runs/*/checkpoints/step-{STEPS:08}-*"))
    assert len(found) == 1, found
    return found[0]


def gradient_bytes_of_a_step(storage):
    """Bytes that both ranks together send per step: each sends half of its gradient and half of the sum, in fp32."""
    with open(last_checkpoint(storage) / "model.safetensors", "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    return 2 * max(entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__")


def cuts_of(seed, bytes_of_a_step):
    """The same number of cuts of each kind, at random moments in equal parts of the middle 80 % of the run, then the
    silence."""
    draw = random.Random(seed)
    stretch = 0.8 * STEPS / CUTS_OF_EACH_KIND
    moments = [(0.1 * STEPS + stretch * (number + draw.random()), kind)
               for kind in (wire.GRADIENTS, wire.COORDINATOR) for number in range(CUTS_OF_EACH_KIND)]
    return [wire.Cut(int(bytes_of_a_step * step), kind) for step, kind in moments + [(SILENT_STEP, wire.SILENCE)]]


def sit_out_the_silence(host, between):
    """Waits until the silence begins, the node on the other side is lost after its lease, and the run waits for it; then ends
    the silence."""
    wait_for("the silence", between.is_silent, seconds=400)
    wait_for("the run waits for the lost node", lambda: host.answer("gpctl why both"),
             lambda why: "all nodes together have 1" in why)
    host.run("gpctl status both")
    host.run("gpctl workers list")
    between.end_silence()


def records(storage):
    """The run's record of each step, without the fields that depend on time."""
    text = next(storage.glob("runs/*/metrics.jsonl")).read_text(encoding="utf-8")
    lines = [json.loads(line) for line in text.splitlines()]
    return [(line["step"], line["tokens"], line["loss"], line["grad_norm"], line["lr"]) for line in lines]


def check_weights(alone, shared):
    for name in ("model.safetensors", "optimizer.safetensors"):
        ours, theirs = (last_checkpoint(storage) / name for storage in (shared, alone))
        assert ours.read_bytes() == theirs.read_bytes(), f"{name} differs from the run on one node"
        print(f"{name}: {ours.stat().st_size} bytes, the same as on one node")


def check_record(host, alone, shared):
    """Each step occurs once, with the loss of the run on one node, in the run's file and in the coordinator's metrics."""
    assert [line[0] for line in records(shared)] == list(range(1, STEPS + 1)), records(shared)
    assert records(shared) == records(alone)
    told = [json.loads(line)["step"] for line in host.answer("gpctl metrics both -o json").splitlines()]
    assert told == list(range(1, STEPS + 1)), told


def check_events(host):
    """Each cut of a connection between ranks is a failure with its reason, and so is the lost node; a cut of the agent's
    connection is none. Every restart continues from the newest checkpoint."""
    events = [json.loads(line) for line in host.answer("gpctl events both -o json").splitlines()]
    reasons = [event["reason"] for event in events if event["event"] == "rank_failed"]
    cut = [reason for reason in reasons if re.search(r"lost rank \d: ", reason)]
    silent = [reason for reason in reasons if f"was silent for more than {LEASE_SECONDS} s" in reason]
    assert len(cut) == CUTS_OF_EACH_KIND and len(silent) == 1 and len(reasons) == len(cut) + 1, reasons
    newest = "from scratch"
    for event in events:
        sealed = re.match(r"checkpoint of step (\d+) sealed", event["reason"])
        newest = f"from step {sealed.group(1)}" if sealed else newest
        placed = event["event"] == "placed"
        assert not placed or re.search(rf" {newest}( again|$)", event["reason"]), (newest, event)
    run = json.loads(host.answer("gpctl status both -o json"))
    assert run["state"] == "succeeded" and run["epoch"] == 1 + len(reasons), run


def check_metrics(host):
    """The failures are counted in the coordinator's metrics."""
    fetch = ("import json, pathlib, urllib.request as web; "
             "at = json.loads(pathlib.Path('.local/state/gp/coordinator.address').read_text())['metrics']; "
             "print(web.urlopen(f'http://{at}/metrics').read().decode())")
    page = host.answer(f'python3 -c "{fetch}"')
    for reason, count in (("collective", CUTS_OF_EACH_KIND), ("worker_lost", 1)):
        assert f'gp_coordinator_run_restarts_total{{reason="{reason}"}} {count}' in page, page


def main():
    seed = int(os.environ.get("GP_TEST_SEED", random.SystemRandom().randrange(1 << 32)))
    with network.two_hosts() as (a, b, shared):
        alone = shared.parent / "alone"
        network.write_run(a, shared, steps=STEPS, layers=2, heads=2, channels=64, checkpoint_every=CHECKPOINT_EVERY)
        pathlib.Path(b.home, "run.yaml").write_bytes(pathlib.Path(a.home, "run.yaml").read_bytes())
        on_one_node(b, alone)
        cuts = cuts_of(seed, gradient_bytes_of_a_step(alone))
        print(f"GP_TEST_SEED={seed}", *sorted(cuts), sep="\n", flush=True)
        with wire.Wire((a, b), 7070, RATE_MBIT, DELAY_SECONDS, cuts) as between:
            network.two_nodes(a, b, shared, **SETTINGS)
            sit_out_the_silence(a, between)
            a.run("gpctl wait both", timeout=600)
            network.look_at_run(a, b, shared)
            check_weights(alone, shared)
            check_record(a, alone, shared)
            check_events(a)
            check_metrics(a)
            assert between.done == sorted(cuts), between.done
            assert between.greetings == {GREETING}, between.greetings
            a.run("gpctl down")
    print(f"{RATE_MBIT} Mbit/s, {DELAY_SECONDS * 1000:.0f} ms in each direction, {2 * CUTS_OF_EACH_KIND} cuts and a silence, "
          f"{'encrypted' if ENCRYPTED else 'not encrypted'}: "
          f"{STEPS} steps on two nodes, each once in the record, with the bytes of one node")


if __name__ == "__main__":
    main()
