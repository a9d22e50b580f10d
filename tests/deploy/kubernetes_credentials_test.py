"""The credentials of deploy/k8s, tested with processes instead of pods. Coordinator, agents and gateway run with the settings,
arguments and variables of the base; the commands of docs/operations/kubernetes.md create their Secrets; a run trains on both
agents.

Needs kubectl, openssl and PyYAML; no cluster.
"""

import base64
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
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

import page_blocks  # noqa: E402  (after the imports that may skip the test)
import pods  # noqa: E402

SOURCE = pathlib.Path(os.environ["GP_SOURCE"])
sys.path.append(str(SOURCE / "tests/e2e"))
import page_commands  # noqa: E402
from waiting import SECONDS_MAX, wait_for  # noqa: E402

API_KEY = "a key of this test"
KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc")
RUN = """\
apiVersion: gp/v1
name: pods
model: {n_layer: 2, n_head: 2, n_embd: 32, n_ctx: 32}
data: {text: [/data/text.txt], tokenizer: bytes}
resources: {workers: 2, device: cpu}
batch: {micro_batch: 4, sequence: 32}
budget: {steps: 40}
"""


def documented_commands(mark):
    text = (SOURCE / "docs/operations/kubernetes.md").read_text(encoding="utf-8")
    block = next(block for block in page_blocks.blocks_of(text) if mark in block.mark)
    return [command for command, _ in page_commands.steps_of("\n".join(block.lines))]


def render(place, components=()):
    with tempfile.TemporaryDirectory(prefix="gp-k8s-") as scratch:
        shutil.copytree(SOURCE / "deploy/k8s", pathlib.Path(scratch, "k8s"))
        top = pathlib.Path(scratch, "k8s/top")
        top.mkdir()
        (top / "kustomization.yaml").write_text(yaml.safe_dump({
            "apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "namespace": "gp",
            "resources": [f"../{place}"], "components": [f"../components/{name}" for name in components]}))
        done = subprocess.run(["kubectl", "kustomize", top], check=True, capture_output=True, text=True)
    return list(yaml.safe_load_all(done.stdout))


class Commands:
    """Executes the page's commands: kubectl creates objects in the model cluster and runs programs in its pods."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.home = cluster.scratch / "home"
        self.home.mkdir()
        (self.home / "api-keys.txt").write_text(hashlib.sha256(API_KEY.encode()).hexdigest() + " test\n")

    def type(self, command):
        passed = b""
        for stage in command.split(" | "):
            done = self.run(shlex.split(stage), passed)
            if done.returncode != 0:
                raise AssertionError(f"{stage}: exit {done.returncode}\n{done.stderr}")
            passed = done.stdout if isinstance(done.stdout, bytes) else done.stdout.encode()

    def run(self, words, passed):
        verb = words[3] if words[:3] == ["kubectl", "-n", "gp"] else None
        if verb == "exec":
            return self.cluster.pods[words[4]].run(words[words.index("--") + 1:])
        if verb == "get":
            path = re.fullmatch(r"jsonpath=\{\.data\.(.*)\}", words[-1]).group(1).replace("\\.", ".")
            found = self.cluster.find(words[4].capitalize(), words[5])
            return subprocess.CompletedProcess(words, 0, found["data"][path], "")
        words += ["--dry-run=client", "-o", "yaml"] if verb == "create" else []
        done = subprocess.run(words, check=False, input=passed, capture_output=True, cwd=self.home)
        if verb == "create":
            self.cluster.create(done.stdout)
        return done


def gateway_port(gateway):
    return wait_for("the gateway serves", lambda: re.search(r"gateway serves url=https://[^ ]*:(\d+)", gateway.text()),
                    process=gateway.process).group(1)


class Credentials(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = pods.Cluster(render("base"))
        cls.addClassCleanup(cls.cluster.close)
        cls.coordinator = cls.cluster.start_coordinator()
        commands = Commands(cls.cluster)
        cls.home = commands.home
        for command in documented_commands(pathlib.Path(__file__).name):
            commands.type(command)
        cls.agents = [cls.cluster.start("StatefulSet", "gp-worker", index) for index in (0, 1)]
        for agent in cls.agents:
            agent.await_ready()

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
        self.assertEqual(third.process.wait(SECONDS_MAX), 1)
        self.assertIn("it admits 2 machines", third.text())
        token = next(each for each in json.loads(self.gpctl("token", "list", "-o", "json"))["items"] if each["kind"] == "join")
        self.assertEqual((token["uses"], token["uses_max"]), (2, 2))
        audit = self.gpctl("audit", "list").splitlines()
        self.assertEqual(sum(f"with the join token {token['id']}" in line and " OK " in line for line in audit), 2, audit)
        self.assertEqual(sum(f"the join token {token['id']} is used up" in line for line in audit), 1, audit)

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
        port = gateway_port(gateway)
        trusted = ssl.create_default_context(cafile=self.home / "tls.crt")
        trusted.check_hostname = False  # inside the cluster its name is gp-gateway

        def models():
            request = urllib.request.Request(f"https://127.0.0.1:{port}/v1/models",
                                             headers={"Authorization": f"Bearer {API_KEY}"})
            with urllib.request.urlopen(request, context=trusted, timeout=SECONDS_MAX) as response:
                return [model["id"] for model in json.load(response)["data"]]

        wait_for("the gateway names the run", models, lambda names: "pods" in names, process=gateway.process)
        with self.assertRaisesRegex(urllib.error.HTTPError, "401"):
            urllib.request.urlopen(f"https://127.0.0.1:{port}/v1/models", context=trusted, timeout=SECONDS_MAX)


class CertManager:
    """Makes the Secrets for the component's Certificates as cert-manager does: tls.crt holds only the certificate, and ca.crt
    the authority."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.folder = cluster.scratch / "cert-manager"
        self.folder.mkdir()
        self.openssl("req", "-x509", *KEY, "-days", "9", "-subj", "/CN=gp", "-keyout", "ca.key", "-out", "ca.crt")

    def openssl(self, *words):
        subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=self.folder)

    def issue(self, name):
        spec = self.cluster.find("Certificate", name)["spec"]
        (self.folder / "names").write_text("subjectAltName=" + ",".join(f"DNS:{each}" for each in spec["dnsNames"]))
        self.openssl("req", *KEY, "-subj", "/CN=x", "-keyout", "tls.key", "-out", "request")
        self.openssl("x509", "-req", "-in", "request", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "8",
                     "-extfile", "names", "-out", "tls.crt")
        files = {key: base64.b64encode((self.folder / key).read_bytes()).decode() for key in ("tls.crt", "tls.key", "ca.crt")}
        if self.cluster.find("Secret", spec["secretName"]):
            self.cluster.delete("Secret", spec["secretName"])
        self.cluster.objects.append({"kind": "Secret", "metadata": {"name": spec["secretName"]}, "data": files})


class WithCertManager(unittest.TestCase):
    def setUp(self):
        self.cluster = pods.Cluster(render("base", ["cert-manager"]))
        self.addCleanup(self.cluster.close)
        self.manager = CertManager(self.cluster)
        self.manager.issue("gp-coordinator")
        self.coordinator = self.cluster.start_coordinator()
        self.commands = Commands(self.cluster)
        for command in documented_commands("the Secret that cert-manager makes"):
            self.commands.type(command)
        for command in documented_commands(pathlib.Path(__file__).name)[1:2]:
            self.commands.type(command)

    def served(self, port, name="gp-coordinator"):
        """The certificate that a server presents."""
        context = ssl.create_default_context(cadata=self.cluster.find("ConfigMap", "gp-ca")["data"]["ca.crt"])
        context.set_alpn_protocols(["h2"])
        with socket.create_connection(("127.0.0.1", int(port))) as connection:
            with context.wrap_socket(connection, server_hostname=name) as secure:
                return secure.getpeercert()["serialNumber"]

    def test_a_gateway_serves_a_renewed_certificate(self):
        for command in documented_commands(pathlib.Path(__file__).name)[2:4]:
            self.commands.type(command)
        self.manager.issue("gp-gateway")
        gateway = self.cluster.start("Deployment", "gp-gateway")
        port = gateway_port(gateway)
        before = self.served(port, "gp-gateway")
        self.manager.issue("gp-gateway")
        gateway.refresh("/etc/gp/tls")
        wait_for("the new certificate is served", lambda: self.served(port, "gp-gateway"), lambda serial: serial != before,
                 process=gateway.process)

    def test_an_agent_joins_and_stays_while_the_certificate_is_replaced(self):
        agent = self.cluster.start("StatefulSet", "gp-worker")
        agent.await_ready()
        before = self.served(self.cluster.coordinator_port)
        self.manager.issue("gp-coordinator")
        self.coordinator.refresh("/etc/gp/tls")
        wait_for("the new certificate is served", lambda: self.served(self.cluster.coordinator_port),
                 lambda serial: serial != before, process=self.coordinator.process)
        self.assertEqual(self.coordinator.text().count("agent connected"), 1, "its stream goes on")
        agent.stop()
        agent.start()
        agent.await_ready()


if __name__ == "__main__":
    unittest.main()
