"""gpctl submit --backend k8s: the JobSet that it prints satisfies the policy and the schemas of deploy/k8s. kubectl sends it
to a server of this test, which checks the body; its pods, run as processes, train the submitted run.

Needs kubectl, openssl and PyYAML; no cluster.
"""

import http.server
import json
import os
import pathlib
import subprocess
import tempfile
import threading
import unittest

import kubernetes_credentials_test as credentials  # skips the tests if a tool is missing
import kubernetes_policy as policy
import kubernetes_test as manifests
import pods
import yaml
from waiting import SECONDS_MAX, wait_for  # importing pods adds its folder to sys.path

SOURCE = pathlib.Path(os.environ["GP_SOURCE"])
PROGRAMS = pathlib.Path(os.environ["GP_BIN"])
GROUP, VERSION = "jobset.x-k8s.io", "v1alpha2"
RUN = """\
apiVersion: gp/v1
name: Night_Run.7
model: {n_layer: 2, n_head: 2, n_embd: 32, n_ctx: 32}
data: {text: [TEXT], tokenizer: bytes}
resources: {workers: 2, device: cpu, threads: 3}
batch: {micro_batch: 4, sequence: 32}
budget: {steps: 40}
"""


class Person:
    """A user with gpctl, a run file and, optionally, kubectl."""

    def __init__(self, test):
        self.home = pathlib.Path(test.enterContext(tempfile.TemporaryDirectory(prefix="gp-backend-")))
        (self.home / "text.txt").write_text("she sells sea shells by the sea shore\n" * 400)
        (self.home / "run.yaml").write_text(RUN.replace("TEXT", str(self.home / "text.txt")))
        self.environment = {"HOME": str(self.home), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}

    def gpctl(self, *words):
        return subprocess.run([PROGRAMS / "gpctl", *words], check=False, capture_output=True, text=True, cwd=self.home,
                              env=self.environment, timeout=SECONDS_MAX)

    def submit(self, *words):
        return self.gpctl("submit", "run.yaml", "--backend", "k8s", *words)

    def print_job_set(self, *words):
        done = self.submit("--dry-run", "-o", "yaml", *words)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        return yaml.safe_load(done.stdout)


def problems_of(job_set):
    """The problems that the checks of the overlays find in a JobSet, when it is added to the overlay that it is made for."""
    found = policy.problems(manifests.render("overlays/jobset-kueue") + [job_set])
    found += policy.saved_in_time([job_set], 240)
    found += manifests.unknown_fields(job_set["spec"], manifests.CUSTOM["JobSet"], "JobSet")
    return found + [f"{key} is missing" for key in manifests.REQUIRED["JobSet"] - set(job_set["spec"])]


def jobs_of(job_set):
    """The jobs of a JobSet as plain Kubernetes Jobs, whose schema is available here."""
    return [{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": job["name"]}, "spec": job["template"]["spec"]}
            for job in job_set["spec"]["replicatedJobs"]]


def agents_of(job_set):
    return next(job for job in job_set["spec"]["replicatedJobs"] if job["name"] == "agents")


def limits_of(job_set):
    return agents_of(job_set)["template"]["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]


ON_GPUS = ("--set", "resources.device=gpu", "--set", "resources.workers=16", "--set", "precision=bf16")


class Printed(unittest.TestCase):
    def setUp(self):
        self.person = Person(self)

    def test_obeys_the_policy_of_the_overlays(self):
        for words in ((), ("--queue", "gp"), ON_GPUS, ("--image-prefix", "registry.example:5000/gp/")):
            self.assertEqual(problems_of(self.person.print_job_set(*words)), [], words)

    def test_fits_the_schemas_of_kubernetes(self):
        if not manifests.VALIDATOR.exists():
            self.skipTest("kubernetes-validate is not installed: scripts/bootstrap --deploy")
        for words in ((), ON_GPUS):
            path = self.person.home / "jobs.yaml"
            path.write_text(yaml.safe_dump_all(jobs_of(self.person.print_job_set(*words))))
            done = manifests.run(manifests.VALIDATOR.parent / "python3", manifests.VALIDATOR, "-k", manifests.KUBERNETES,
                                 "--strict", path)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_names_settings_that_the_agent_knows(self):
        container = agents_of(self.person.print_job_set())["template"]["spec"]["template"]["spec"]["containers"][0]
        known = manifests.run(PROGRAMS / "gp-worker", "--explain", "all").stdout
        variables = {each["name"]: each.get("value", "10.0.0.7") for each in container["env"]}
        for name in variables:
            self.assertTrue(any(f"GP_WORKER_{line.split()[0].upper().replace('.', '_')}" == name
                                for line in known.splitlines() if line.startswith("  ") and line.split()), name)
        done = manifests.run(PROGRAMS / "gp-worker", *container["args"], "--check-config", env=variables)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_has_the_size_of_the_run(self):
        on_cpus = self.person.print_job_set()
        self.assertEqual(agents_of(on_cpus)["template"]["spec"]["parallelism"], 2)
        self.assertEqual(limits_of(on_cpus), {"cpu": "3", "memory": "6Gi"})
        on_gpus = self.person.print_job_set(*ON_GPUS)
        self.assertEqual(agents_of(on_gpus)["template"]["spec"]["completions"], 2)
        self.assertEqual(limits_of(on_gpus)["nvidia.com/gpu"], 8)
        small = self.person.print_job_set(*ON_GPUS, "--gpus-per-agent", "4", "--memory", "96Gi")
        self.assertEqual(agents_of(small)["template"]["spec"]["completions"], 4)
        self.assertEqual(limits_of(small), {"cpu": "16", "memory": "96Gi", "nvidia.com/gpu": 4})

    def test_has_the_names_that_were_asked_for(self):
        job_set = self.person.print_job_set("--queue", "night", "--cluster-namespace", "other", "--image-prefix", "reg/")
        self.assertEqual((job_set["metadata"]["name"], job_set["metadata"]["namespace"]), ("night-run-7", "other"))
        self.assertEqual(job_set["metadata"]["labels"]["kueue.x-k8s.io/queue-name"], "night")
        self.assertEqual({container["image"].rpartition(":")[0] for _, _, container in policy.containers([job_set])},
                         {"reg/gp-worker", "reg/gp-coordinator"})
        waiting = job_set["spec"]["replicatedJobs"][1]["template"]["spec"]["template"]["spec"]["containers"][0]
        self.assertEqual(waiting["command"][:3], ["gpctl", "wait", "default/Night_Run.7"])

    def test_says_what_does_not_fit(self):
        for words, expected in (
                ((*ON_GPUS, "--gpus-per-agent", "3"), "16 GPUs (resources.workers), which is not a multiple of 3 GPUs per agent"),
                (("--gpus-per-agent", "2"), "the run computes on CPUs"),
                (("--set", "resources.device=auto"), "resources.device is auto"),
                (("--queue", "Two Words"), "--queue 'Two Words'"), (("--memory", "lots"), "--memory 'lots'"),
                (("--image-prefix", 'x"y'), "--image-prefix"), (("--set", "optimizer.learning=1"), "unknown key")):
            done = self.person.submit("--dry-run", "-o", "yaml", *words)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(expected, done.stderr)
            self.assertEqual(done.stdout, "")
        self.assertIn("printed as YAML", self.person.submit("--dry-run", "-o", "json").stderr)
        self.assertIn("expected text or json", self.person.gpctl("list", "-o", "yaml").stderr)


class Kubernetes(http.server.ThreadingHTTPServer):
    """The part of Kubernetes' API that `kubectl create` uses. Accepts JobSets that pass the checks."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answer)
        self.created = []
        self.refusal = None
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def kubeconfig(self, path):
        path.write_text(yaml.safe_dump({
            "apiVersion": "v1", "kind": "Config", "current-context": "test", "users": [{"name": "test", "user": {}}],
            "clusters": [{"name": "test", "cluster": {"server": f"http://127.0.0.1:{self.server_port}"}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}]}))
        return str(path)


class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    PATCHED = {"patch": {"operationId": "patch", "responses": {}, "parameters": [
        {"name": "fieldValidation", "in": "query", "schema": {"type": "string"}}],
        "x-kubernetes-group-version-kind": {"group": GROUP, "version": VERSION, "kind": "JobSet"}}}
    KNOWN = {
        "/api": {"kind": "APIVersions", "versions": ["v1"]},
        "/api/v1": {"kind": "APIResourceList", "groupVersion": "v1", "resources": []},
        "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": [
            {"name": GROUP, "versions": [{"groupVersion": f"{GROUP}/{VERSION}", "version": VERSION}],
             "preferredVersion": {"groupVersion": f"{GROUP}/{VERSION}", "version": VERSION}}]},
        f"/apis/{GROUP}/{VERSION}": {
            "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": f"{GROUP}/{VERSION}", "resources": [
                {"name": "jobsets", "singularName": "jobset", "namespaced": True, "kind": "JobSet", "verbs": ["create"]}]},
        "/openapi/v3": {"paths": {f"apis/{GROUP}/{VERSION}": {"serverRelativeURL": f"/openapi/v3/apis/{GROUP}/{VERSION}"}}},
        f"/openapi/v3/apis/{GROUP}/{VERSION}": {
            "openapi": "3.0.0", "info": {"title": "test", "version": "1"},
            "paths": {f"/apis/{GROUP}/{VERSION}/namespaces/{{namespace}}/jobsets/{{name}}": PATCHED}},
    }

    def log_message(self, *_):
        pass

    def answer(self, code, document):
        body = json.dumps(document).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def refuse(self, code, reason, message):
        self.answer(code, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason,
                           "message": message})

    def do_GET(self):
        found = self.KNOWN.get(self.path.partition("?")[0])
        if found is None:
            self.refuse(404, "NotFound", f"{self.path} is not here")
        else:
            self.answer(200, found)

    def do_POST(self):
        job_set = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        path = f"/apis/{GROUP}/{VERSION}/namespaces/{job_set['metadata']['namespace']}/jobsets"
        problems = problems_of(job_set)
        if self.server.refusal:
            self.refuse(403, "Forbidden", self.server.refusal)
        elif self.path.partition("?")[0] != path or problems:
            self.refuse(422, "Invalid", f"{self.path}: {problems}")
        else:
            self.server.created.append(job_set)
            self.answer(201, job_set)


class Created(unittest.TestCase):
    def setUp(self):
        self.person = Person(self)
        self.kubernetes = Kubernetes()
        self.addCleanup(self.kubernetes.server_close)
        self.addCleanup(self.kubernetes.shutdown)
        self.start_coordinator()
        self.person.environment["KUBECONFIG"] = self.kubernetes.kubeconfig(self.person.home / "kubeconfig")
        self.person.environment["GPCTL_SERVER"] = f"unix:{self.person.home}/socket"

    def start_coordinator(self):
        home = self.person.home
        process = subprocess.Popen([PROGRAMS / "gp-coordinator", "--socket", home / "socket", "--state-dir", home / "state",
                                    "--storage-root", home / "storage", "--metrics-listen", "127.0.0.1:0",
                                    "--address-file", home / "address"], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.addCleanup(lambda: (process.terminate(), process.wait(SECONDS_MAX)))
        wait_for("the coordinator serves", (home / "address").exists, process=process)

    def runs(self):
        return json.loads(self.person.gpctl("list", "-a", "-o", "json").stdout)["items"]

    def test_the_run_waits_for_the_agents_of_its_job_set(self):
        done = self.person.submit("--queue", "gp")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("created", done.stderr)
        [run], [job_set] = self.runs(), self.kubernetes.created
        self.assertEqual(run["state"], "queued")
        self.assertEqual(job_set["metadata"]["name"], f"night-run-7-{run['run_id']}")
        waiting = job_set["spec"]["replicatedJobs"][1]["template"]["spec"]["template"]["spec"]["containers"][0]
        self.assertEqual(waiting["command"][:3], ["gpctl", "wait", run["run_id"]])

    def test_a_run_whose_job_set_is_refused_is_cancelled(self):
        self.kubernetes.refusal = "jobsets is forbidden: ana cannot create them in gp"
        done = self.person.submit()
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertIn("ana cannot create them in gp", done.stderr)
        self.assertIn("was cancelled: kubectl did not create the JobSet", done.stderr)
        self.assertEqual([run["state"] for run in self.runs()], ["cancelled"])

    def test_a_repeated_submit_cancels_nothing(self):
        self.assertEqual(self.person.submit("--request-id", "one").returncode, 0)
        self.kubernetes.refusal = "it is there already"
        done = self.person.submit("--request-id", "one")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("warning: kubectl did not create", done.stderr)
        self.assertEqual([run["state"] for run in self.runs()], ["queued"])

    def test_without_kubectl_nothing_is_submitted(self):
        self.person.environment["PATH"] = str(self.person.home)
        done = self.person.submit()
        self.assertEqual(done.returncode, 5)
        self.assertIn("there is no program 'kubectl'", done.stderr)
        self.assertEqual(self.runs(), [])


class Pods(unittest.TestCase):
    def test_train_the_run_and_end_with_it(self):
        cluster = pods.Cluster(credentials.render("overlays/jobset-kueue"))
        self.addCleanup(cluster.close)
        coordinator = cluster.start_coordinator()
        commands = credentials.Commands(cluster)
        for command in credentials.documented_commands("kubernetes_credentials_test.py")[:3]:
            commands.type(command)
        data = cluster.shared("gp-data")
        (data / "text.txt").write_text("she sells sea shells by the sea shore\n" * 400)
        (data / "run.yaml").write_text(coordinator.translate(RUN.replace("TEXT", "/data/text.txt")))
        printed = coordinator.run(["gpctl", "submit", "/data/run.yaml", "--backend", "k8s", "--dry-run", "-o", "yaml"])
        agents, run = yaml.safe_load(printed.stdout)["spec"]["replicatedJobs"]
        self.assertEqual(coordinator.run(["gpctl", "submit", "/data/run.yaml"]).returncode, 0)
        started = [cluster.start_job(agents, index) for index in range(agents["template"]["spec"]["completions"])]
        waiting = cluster.start_job(run)
        self.assertEqual(waiting.process.wait(SECONDS_MAX), 0, waiting.text())
        self.assertIn("succeeded", waiting.text())
        for agent in started:  # the pods of the current JobSet
            self.assertEqual(agent.stop(), 0, agent.text())
        self.assertIn("starting on agents-0", coordinator.run(["gpctl", "events", "Night_Run.7"]).stdout)


if __name__ == "__main__":
    unittest.main()
