"""The credentials of deploy/k8s, with processes for pods: coordinator, agents and a gateway run with the settings, arguments and
variables of the base; their Secrets are made by the commands of docs/operations/kubernetes.md; a run trains on both agents.

Needs kubectl, openssl and PyYAML; no cluster.
"""

import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import ssl
import socket
import subprocess
import sys
import unittest
import urllib.request

for tool in ("kubectl", "openssl"):
    if not shutil.which(tool):
        print(f"{tool} is not installed")
        sys.exit(77)
try:
    import yaml
except ImportError:
    print("PyYAML is not installed (Debian: python3-yaml)")
    sys.exit(77)

import page_blocks  # noqa: E402  (after what it skips for)
import pods  # noqa: E402

SOURCE = pathlib.Path(os.environ["GP_SOURCE"])
sys.path.append(str(SOURCE / "tests/e2e"))
import readme_test as page  # noqa: E402

API_KEY = "a key of this test"
RUN = """\
apiVersion: gp/v1
name: pods
model: {n_layer: 2, n_head: 2, n_embd: 32, n_ctx: 32}
data: {text: [/data/text.txt], tokenizer: bytes}
resources: {workers: 2, device: cpu}
batch: {micro_batch: 4, sequence: 32}
budget: {steps: 40}
"""


def documented_commands():
    text = (SOURCE / "docs/operations/kubernetes.md").read_text(encoding="utf-8")
    block = next(block for block in page_blocks.blocks_of(text) if pathlib.Path(__file__).name in block.mark)
    return [command for command, _ in page.steps_of("\n".join(block.lines))]


def base():
    done = subprocess.run(["kubectl", "kustomize", SOURCE / "deploy/k8s/base"], check=True, capture_output=True, text=True)
    return list(yaml.safe_load_all(done.stdout))


class Credentials(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = pods.Cluster(base())
        cls.addClassCleanup(cls.cluster.close)
        cls.coordinator = cls.cluster.start("StatefulSet", "gp-coordinator")
        cls.coordinator.await_ready()
        cls.cluster.coordinator_port = cls.coordinator.addresses()["listen"].rpartition(":")[2]
        cls.home = cls.cluster.scratch / "home"
        cls.home.mkdir()
        cls.home.joinpath("api-keys.txt").write_text(hashlib.sha256(API_KEY.encode()).hexdigest() + " test\n")
        for command in documented_commands():
            cls.type(command)
        cls.agents = [cls.cluster.start("StatefulSet", "gp-worker", index) for index in (0, 1)]
        for agent in cls.agents:
            agent.await_ready()

    @classmethod
    def type(cls, command):
        """A line of the page; kubectl creates in this test's cluster and runs in its pods."""
        passed = ""
        for stage in command.split(" | "):
            words = shlex.split(stage)
            if words[:4] == ["kubectl", "-n", "gp", "exec"]:
                done = cls.cluster.pods[words[4]].run(words[words.index("--") + 1:])
            elif words[:4] == ["kubectl", "-n", "gp", "create"]:
                done = subprocess.run([*words, "--dry-run=client", "-o", "yaml"], check=False, input=passed,
                                      capture_output=True, text=True, cwd=cls.home)
                cls.cluster.create(done.stdout)
            else:
                done = subprocess.run(words, check=False, capture_output=True, text=True, cwd=cls.home)
            if done.returncode != 0:
                raise AssertionError(f"{stage}: exit {done.returncode}\n{done.stderr}")
            passed = done.stdout

    def gpctl(self, *words):
        done = self.coordinator.run(["gpctl", *words])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_1_the_certificate_has_every_name_of_the_service(self):
        authority = self.cluster.find("ConfigMap", "gp-ca")["data"]["ca.crt"]
        context = ssl.create_default_context(cadata=authority)
        context.set_alpn_protocols(["h2"])
        for name in ("gp-coordinator", "gp-coordinator.gp", "gp-coordinator.gp.svc", "gp-coordinator.gp.svc.cluster.local"):
            with socket.create_connection(("127.0.0.1", int(self.cluster.coordinator_port))) as connection:
                with context.wrap_socket(connection, server_hostname=name) as secure:
                    self.assertEqual(secure.version(), "TLSv1.3")

    def test_2_a_run_trains_on_both_agents(self):
        data = self.cluster.shared("gp-data")
        (data / "text.txt").write_text("she sells sea shells by the sea shore\n" * 400)
        (data / "run.yaml").write_text(self.coordinator.translate(RUN))
        self.gpctl("submit", "/data/run.yaml", "--wait")
        events = self.gpctl("events", "pods")
        self.assertIn("gp-worker-0:", events)
        self.assertIn("gp-worker-1:", events)

    def test_3_the_token_lets_two_agents_in_and_the_audit_log_tells_which(self):
        third = self.cluster.start("StatefulSet", "gp-worker", 2)
        self.assertEqual(third.process.wait(pods.SECONDS_MAX), 1)
        self.assertIn("it lets 2 machines in", third.text())
        token = next(each for each in json.loads(self.gpctl("token", "list", "-o", "json"))["items"] if each["kind"] == "join")
        self.assertEqual((token["uses"], token["uses_max"]), (2, 2))
        audit = self.gpctl("audit", "list").splitlines()
        self.assertEqual(sum(f"with the join token {token['id']}" in line and " OK " in line for line in audit), 2, audit)
        self.assertEqual(sum(f"the join token {token['id']} was used already" in line for line in audit), 1, audit)

    def test_4_an_agent_restarts_without_the_token(self):
        self.cluster.delete("Secret", "gp-join")
        agent = self.agents[1]
        self.assertEqual(agent.stop(), 0, agent.text())
        agent.start()
        agent.await_ready()
        nodes = json.loads(self.gpctl("workers", "list", "-o", "json"))["items"]
        self.assertEqual(sorted(node["name"] for node in nodes if node["connected"]), ["gp-worker-0", "gp-worker-1"])

    def test_5_the_gateway_serves_the_run_over_tls(self):
        gateway = self.cluster.start("Deployment", "gp-gateway")
        port = pods.wait_for("the gateway serves", lambda: re.search(r"gateway serves url=https://[^ ]*:(\d+)", gateway.text()),
                             gateway.process).group(1)
        trusted = ssl.create_default_context(cafile=self.home / "tls.crt")
        trusted.check_hostname = False  # it is called gp-gateway in the cluster

        def models():
            request = urllib.request.Request(f"https://127.0.0.1:{port}/v1/models",
                                             headers={"Authorization": f"Bearer {API_KEY}"})
            with urllib.request.urlopen(request, context=trusted, timeout=pods.SECONDS_MAX) as response:
                return [model["id"] for model in json.load(response)["data"]]

        pods.wait_for("the gateway names the run", lambda: "pods" in models(), gateway.process)
        with self.assertRaisesRegex(urllib.error.HTTPError, "401"):
            urllib.request.urlopen(f"https://127.0.0.1:{port}/v1/models", context=trusted, timeout=pods.SECONDS_MAX)


if __name__ == "__main__":
    unittest.main()
