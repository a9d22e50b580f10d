"""Sets up two nodes with six commands; TLS and tokens are on by default. While a run trains on both, the certificates of the
coordinator and of the node and the user's token are renewed, and no step is lost."""

import json
import pathlib

import network
from waiting import wait_for  # importing network adds the folder to sys.path

STEPS = 1_000_000  # the test cancels the run after the renewals
# A certificate is renewed after two thirds of its lifetime, so several times while the run trains.
LIFETIME = {"GP_COORDINATOR_TLS_LIFETIME": "15s"}

def run_of(host):
    return json.loads(host.answer("gpctl status both -o json"))


def steps_of(shared):
    """The steps in the run's records, in file order."""
    records = next(shared.glob("runs/*/metrics.jsonl"))
    return [json.loads(line)["step"] for line in records.read_text(encoding="utf-8").splitlines()]


def change_token(a, b, server):
    """A user on the other host gets a token and later a second one; then the first is revoked."""
    a.run(f"gpctl token create --name ana --role viewer --out {b.home}/first.token")
    b.run(f"gpctl login {server} --token-file first.token")
    b.run("gpctl list")
    first = json.loads(a.answer("gpctl token list -o json"))
    identifier = next(token["id"] for token in first["items"] if token["name"] == "ana")
    a.run(f"gpctl token create --name ana --role viewer --out {b.home}/second.token")
    a.run(f"gpctl token revoke {identifier}")
    refused = b.run("gpctl list", check=False)
    assert refused.returncode != 0 and "revoked" in refused.stdout, refused.stdout
    b.run(f"gpctl login {server} --token-file second.token")
    b.run("gpctl list")
    refused = b.run("gpctl cancel both", check=False)
    assert refused.returncode != 0 and "submitter" in refused.stdout, refused.stdout


def serve_elsewhere(a, b, server):
    """A gateway on the other host serves the run's model, with a viewer's token and over TLS."""
    a.run(f"cp .local/state/gp/coordinator/security/ca.crt {b.home}/")
    b.start(f"gp-gateway --listen 127.0.0.1:0 --metrics-listen 127.0.0.1:0 --address-file gateway.json --coordinator {server} "
            f"--coordinator-ca ca.crt --coordinator-token-file second.token", "gateway.log")
    ask = ("import json, urllib.request; at = json.load(open('gateway.json'))['address']; "
           "print(urllib.request.urlopen(f'http://{at}/v1/models').read().decode())")
    models = wait_for("the gateway's model of the run", lambda: [
        model["id"] for model in json.loads(b.run(f'test -e gateway.json && python3 -c "{ask}" || echo "{{}}"').stdout)
        .get("data", [])])
    assert "both" in models, models


def main():
    with network.two_hosts() as (a, b, shared):
        network.write_run(a, shared, steps=STEPS, layers=4, heads=4, channels=128, checkpoint_every=500)
        server = network.two_nodes(a, b, shared, **LIFETIME)
        a.run("gpctl wait both --for step=50")
        first = b.certificate_of(server)
        node = pathlib.Path(b.home, "node")
        credentials = {path: path.read_bytes() for path in node.rglob("*") if path.suffix in (".crt", ".pem")}
        assert first and credentials, (first, list(node.rglob("*")))
        change_token(a, b, server)
        a.run("gpctl wait both --for checkpoint")
        serve_elsewhere(a, b, server)
        wait_for("a new certificate of the server", lambda: b.certificate_of(server), lambda shown: shown != first)
        wait_for("a new certificate of the node",
                 lambda: any(path.read_bytes() != old for path, old in credentials.items()))
        assert run_of(a)["state"] == "running", "the certificates must change while it trains"
        step = run_of(a)["progress"]["step"]
        a.run(f"gpctl wait both --for step={step + 50}", timeout=600)
        a.run("gpctl cancel both")
        run = wait_for("the end of the run", lambda: run_of(a), lambda seen: seen["state"] == "cancelled")
        a.run("gpctl events both")
        assert run["epoch"] == 1 and run["progress"]["step"] >= step + 50, run
        steps = steps_of(shared)
        assert steps == list(range(1, run["progress"]["step"] + 1)), "a step is missing or was done twice"
        a.run("gpctl workers list")
        a.run("gpctl audit verify")
        a.run("gpctl down")
        print(f"{len(steps)} steps on two nodes, each once; the certificates changed meanwhile")


if __name__ == "__main__":
    main()
