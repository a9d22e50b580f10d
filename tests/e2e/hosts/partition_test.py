"""One run on two hosts whose ranks cannot reach each other any more, while both agents reach the coordinator: packets between
the ranks are dropped. The coordinator ends the epoch within the limit and names a rank; when the packets pass again, the run
goes on from its newest checkpoint, and its weights are those of one node."""

import json
import pathlib
import re
import shutil
import time

import network
from waiting import wait_for  # importing network adds the folder to sys.path

STEPS = 600
CHECKPOINT_EVERY = 20
CUT_STEP = 100  # by then every phase was completed, so its limit is short
DROP = "INPUT -i eth0 -p tcp ! --dport 7070 -j DROP"
# The message of the event, and how much later than its limit the coordinator may notice.
STALLED = re.compile(r"its peers do not reach its process on node .*, in phase .*, for ([0-9.]+) s \(limit ([0-9.]+) s\)")
REACTION_SECONDS = 0.5


def weights(storage):
    found = sorted(storage.glob(f"runs/*/checkpoints/step-{STEPS:08}-*"))
    assert len(found) == 1, found
    return (found[0] / "model.safetensors").read_bytes()


def failures(host):
    events = [json.loads(line) for line in host.answer("gpctl events both -o json").splitlines()]
    return [event["reason"] for event in events if event["event"] == "rank_failed"]


def main():
    if shutil.which("iptables") is None:
        network.skip("there is no iptables: it is in Debian's package of that name")
    with network.two_hosts() as (a, b, shared):
        if a.run(f"iptables -A {DROP} && iptables -D {DROP}", check=False).returncode != 0:
            network.skip("iptables cannot drop packets here")
        alone = shared.parent / "alone"
        network.write_run(a, shared, steps=STEPS, layers=2, heads=2, channels=64, checkpoint_every=CHECKPOINT_EVERY)
        pathlib.Path(b.home, "run.yaml").write_bytes(pathlib.Path(a.home, "run.yaml").read_bytes())
        alone.mkdir()
        b.run(f"gpctl up --detach --workers 2 --storage-root {alone}")
        b.run("gpctl submit run.yaml")
        b.run("gpctl wait both")
        b.run("gpctl down")

        network.two_nodes(a, b, shared)
        wait_for("some steps", lambda: json.loads(a.answer("gpctl status both -o json"))["progress"]["step"],
                 lambda step: step >= CUT_STEP)
        a.run(f"iptables -A {DROP}")
        began = time.monotonic()
        wait_for("the coordinator notices", lambda: failures(a), bool)
        took = time.monotonic() - began
        a.run(f"iptables -D {DROP}")
        a.run("gpctl wait both", timeout=300)
        reasons = failures(a)
        print(f"noticed after {took:.1f} s", *reasons, sep="\n")
        told = STALLED.search(reasons[0])
        assert told, reasons
        assert float(told.group(1)) <= float(told.group(2)) + REACTION_SECONDS, reasons
        assert weights(shared) == weights(alone), "the weights differ from those of one node"
        a.run("gpctl down")


if __name__ == "__main__":
    main()
