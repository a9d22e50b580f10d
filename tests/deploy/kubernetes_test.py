"""deploy/k8s renders, satisfies Kubernetes' schemas and gp's own policy, and uses only settings that the programs know.

Needs kubectl and PyYAML; schemas are checked only if scripts/bootstrap --deploy has installed kubernetes-validate.
"""

import copy
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["GP_SOURCE"])
PROGRAMS = pathlib.Path(os.environ["GP_BIN"])
K8S = SOURCE / "deploy/k8s"
VALIDATOR = SOURCE / ".deps/deploy/bin/kubernetes-validate"
KUBERNETES = "1.32"
COMPONENTS = sorted(path.name for path in (K8S / "components").iterdir())
PLACES = ["base", *sorted(f"overlays/{path.name}" for path in (K8S / "overlays").iterdir())]

if not shutil.which("kubectl"):
    print("kubectl is not installed, which renders deploy/k8s")
    sys.exit(77)
try:
    import yaml
except ImportError:
    print("PyYAML is not installed (Debian: python3-yaml)")
    sys.exit(77)

sys.path.append(str(SOURCE / "tests/e2e"))
import kubernetes_policy as policy  # noqa: E402  (after the imports that may skip the test)
import page_commands  # noqa: E402

# The keys of custom resources that gp may use, nested as in the resource. None: any value is allowed below this key.
POD_TEMPLATE = {"spec": {"parallelism": None, "completions": None, "backoffLimit": None, "template": None,
                         "podFailurePolicy": None}}
CUSTOM = {
    "JobSet": {"successPolicy": {"operator": None, "targetReplicatedJobs": None}, "failurePolicy": {"maxRestarts": None},
               "ttlSecondsAfterFinished": None,
               "network": {"enableDNSHostnames": None, "publishNotReadyAddresses": None},
               "replicatedJobs": {"name": None, "replicas": None, "template": POD_TEMPLATE}},
    "ResourceFlavor": {},
    "ClusterQueue": {"namespaceSelector": None,
                     "resourceGroups": {"coveredResources": None, "flavors": {
                         "name": None, "resources": {"name": None, "nominalQuota": None}}}},
    "LocalQueue": {"clusterQueue": None},
    "PodMonitor": {"selector": None, "podTargetLabels": None,
                   "podMetricsEndpoints": {"port": None, "interval": None, "scheme": None, "tlsConfig": None,
                                           "relabelings": {"sourceLabels": None, "targetLabel": None}}},
    "ServiceMonitor": {"namespaceSelector": {"matchNames": None}, "selector": None,
                       "endpoints": {"port": None, "interval": None}},
    "PrometheusRule": {"groups": {"name": None, "interval": None, "rules": {
        "alert": None, "record": None, "expr": None, "for": None, "keep_firing_for": None, "labels": None,
        "annotations": None}}},
    "Certificate": {"secretName": None, "duration": None, "renewBefore": None, "dnsNames": None, "usages": None,
                    "privateKey": {"algorithm": None, "size": None, "encoding": None, "rotationPolicy": None},
                    "issuerRef": {"name": None, "kind": None}, "isCA": None, "commonName": None},
    "Issuer": {"selfSigned": None, "ca": {"secretName": None}},
}
# Keys that the published schemas require.
REQUIRED = {"Certificate": {"secretName", "issuerRef"}, "JobSet": {"replicatedJobs"}, "PodMonitor": {"selector"}}


def run(*command, **options):
    return subprocess.run([str(word) for word in command], check=False, capture_output=True, text=True, **options)


def render(place, components=()):
    """The objects of an overlay, with these additional components."""
    with tempfile.TemporaryDirectory(prefix="gp-k8s-") as scratch:
        shutil.copytree(K8S, pathlib.Path(scratch, "k8s"))
        top = pathlib.Path(scratch, "k8s/top")
        top.mkdir()
        top.joinpath("kustomization.yaml").write_text(yaml.safe_dump({
            "apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "namespace": "gp",
            "resources": [f"../{place}"], "components": [f"../components/{name}" for name in components]}))
        done = run("kubectl", "kustomize", top)
    if done.returncode != 0:
        raise AssertionError(f"kubectl kustomize {place}: {done.stderr}")
    return list(yaml.safe_load_all(done.stdout))


def seconds(duration):
    units = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}
    return sum(float(number) * units[unit] for number, unit in re.findall(r"([\d.]+)(ms|s|m|h)", duration))


def unknown_fields(spec, known, path):
    for each in spec if isinstance(spec, list) else [spec]:
        for key, value in each.items():
            if key not in known:
                yield f"{path}.{key}"
            elif known[key] is not None:
                yield from unknown_fields(value, known[key], f"{path}.{key}")


def settings_of(objects):
    """{program: text of its settings file}, read from the ConfigMaps."""
    return {name: each["data"][f"{name}.yaml"] for each in objects if each["kind"] == "ConfigMap"
            for name in ("coordinator", "worker", "gateway") if f"{name}.yaml" in each.get("data", {})}


def program_of(container):
    return container["args"][1].rpartition("/")[2].removesuffix(".yaml")


class Manifests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rendered = {place: render(place) for place in PLACES}
        cls.rendered["overlays/gpu with every component"] = render("overlays/gpu", COMPONENTS)

    def check_each(self, check):
        for place, objects in self.rendered.items():
            with self.subTest(place):
                check(objects)

    def test_obey_the_policy(self):
        def check(objects):
            self.assertEqual(policy.problems(objects), [])

        self.check_each(check)

    def test_fit_the_schemas_of_kubernetes(self):
        if not VALIDATOR.exists():
            self.skipTest("kubernetes-validate is not installed: scripts/bootstrap --deploy")

        def check(objects):
            own = [each for each in objects if each["kind"] not in CUSTOM]
            with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
                yaml.safe_dump_all(own, file)
                file.flush()
                done = run(VALIDATOR.parent / "python3", VALIDATOR, "-k", KUBERNETES, "--strict", file.name)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertEqual((done.stdout + done.stderr).count("passed"), len(own))

        self.check_each(check)

    def test_use_known_fields_of_custom_resources(self):
        def check(objects):
            for each in objects:
                if each["kind"] in CUSTOM:
                    self.assertEqual(list(unknown_fields(each.get("spec", {}), CUSTOM[each["kind"]], each["kind"])), [])
                    self.assertLessEqual(REQUIRED.get(each["kind"], set()), set(each.get("spec", {})))

        self.check_each(check)

    def test_give_the_programs_settings_that_they_accept(self):
        def check(objects):
            settings = settings_of(objects)
            self.assertEqual(set(settings), {"coordinator", "worker", "gateway"})
            for owner, _, container in policy.containers(objects):
                if "args" in container:
                    self.check_settings(owner, container, settings[program_of(container)])

        self.check_each(check)

    def check_settings(self, owner, container, text):
        """The program itself reads the settings file and the variables that it would get in the pod."""
        program = PROGRAMS / f"gp-{program_of(container)}"
        variables = {each["name"]: each.get("value", "10.0.0.7") for each in container.get("env", [])}
        prefix = program.name.upper().replace("-", "_")
        known = {f"{prefix}_{key.upper().replace('.', '_')}"
                 for key in re.findall(r"^  ([a-z_.]+) ", run(program, "--explain", "all").stdout, re.MULTILINE)}
        self.assertLessEqual(set(variables), known, owner)
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(text)
            file.flush()
            flags = container["args"][2:]
            done = run(program, "--config", file.name, *flags, "--check-config", env=variables)
        self.assertEqual(done.returncode, 0, f"{owner}: {done.stdout}{done.stderr}")

    def test_listen_on_the_ports_that_they_show(self):
        def check(objects):
            settings = {name: yaml.safe_load(text) for name, text in settings_of(objects).items()}
            for owner, _, container in policy.containers(objects):
                if not container.get("ports"):
                    continue
                own = settings[program_of(container)]
                listening = {own[group]["listen"].rpartition(":")[2] for group in ("server", "metrics")
                             if "listen" in own.get(group, {})}
                shown = {str(port["containerPort"]) for port in container["ports"]}
                self.assertEqual(listening, shown, owner)

        self.check_each(check)

    def test_certificates_name_what_their_readers_ask_for(self):
        objects = render("base", ["cert-manager"])
        dns_names = {each["metadata"]["name"]: each["spec"].get("dnsNames", []) for each in objects
                     if each["kind"] == "Certificate"}
        settings = {name: yaml.safe_load(text) for name, text in settings_of(objects).items()}
        self.assertLessEqual(set(settings["coordinator"]["server"]["advertise"]), set(dns_names["gp-coordinator"]))
        for name in ("worker", "gateway"):
            self.assertIn(settings[name]["coordinator"]["address"].rpartition(":")[0], dns_names["gp-coordinator"])
        issuers = {each["metadata"]["name"] for each in objects if each["kind"] == "Issuer"}
        self.assertLessEqual({each["spec"]["issuerRef"]["name"] for each in objects if each["kind"] == "Certificate"}, issuers)

    def test_let_agents_save_before_they_are_killed(self):
        def check(objects):
            grace = yaml.safe_load(settings_of(objects)["worker"])["trainer"]["stop_grace"]
            self.assertEqual(list(policy.saved_in_time(objects, seconds(grace))), [])

        self.check_each(check)

    def test_keep_one_path_of_the_storage_everywhere(self):
        def check(objects):
            roots = {yaml.safe_load(settings_of(objects)[name])["storage"]["root"] for name in ("coordinator", "worker")}
            self.assertEqual(len(roots), 1)
            for owner, _, container in policy.containers(objects):
                mounts = {each["name"]: each["mountPath"] for each in container["volumeMounts"]}
                if "storage" in mounts:
                    self.assertEqual({mounts["storage"]}, roots, owner)

        self.check_each(check)

    def test_the_rules_are_those_of_prometheus(self):
        printed = run(SOURCE / "scripts/make_k8s_rules", "--print").stdout
        written = (K8S / "components/monitoring/rules.yaml").read_text(encoding="utf-8")
        self.assertEqual(written, printed, "run scripts/make_k8s_rules")

    def test_the_run_of_the_job_set_is_valid(self):
        with tempfile.TemporaryDirectory(prefix="gp-k8s-") as scratch:
            text = pathlib.Path(scratch, "text.txt")
            text.write_text("the quick brown fox\n" * 1000)
            done = run(PROGRAMS / "gpctl", "validate", K8S / "overlays/jobset-kueue/run.yaml",
                       "--set", f"data.text={text}", env={"HOME": scratch})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class ThePage(unittest.TestCase):
    def test_shows_commands_that_work(self):
        text = (SOURCE / "docs/operations/kubernetes.md").read_text(encoding="utf-8")
        steps = page_commands.executed_steps(text)
        self.assertTrue(steps)
        with tempfile.TemporaryDirectory(prefix="gp-k8s-") as home:
            shutil.copytree(SOURCE / "deploy", pathlib.Path(home, "deploy"))
            results = page_commands.outputs_of(steps, home)
        self.assertEqual(page_commands.problems_of(steps, results), [])

    def test_says_how_to_make_what_the_manifests_do_not_hold(self):
        text = (SOURCE / "docs/operations/kubernetes.md").read_text(encoding="utf-8")
        made = set(re.findall(r"create (?:configmap|secret \w+) (gp-[a-z-]+)", text))
        self.assertEqual(made, policy.CONFIG_MAPS_MADE_BY_HAND | policy.SECRETS_MADE_BY_HAND)


def first_pod(objects, kind):
    return next(each for each in objects if each["kind"] == kind)["spec"]["template"]


def drop_capabilities(objects):
    first_pod(objects, "StatefulSet")["spec"]["containers"][0]["securityContext"]["capabilities"]["add"] = ["IPC_LOCK"]


def run_as_root(objects):
    first_pod(objects, "Deployment")["spec"]["securityContext"]["runAsUser"] = 0


def take_latest(objects):
    first_pod(objects, "Deployment")["spec"]["containers"][0]["image"] = "gp-gateway:latest"


def lose_the_label(objects):
    for _, template in policy.pod_templates(objects):
        del template["metadata"]["labels"]["app.kubernetes.io/part-of"]


def request_gpus(objects):
    first_pod(objects, "Deployment")["spec"]["containers"][0]["resources"]["requests"]["nvidia.com/gpu"] = 1


def open_the_gate(objects):
    objects[:] = [each for each in objects if each["metadata"]["name"] != "gp-deny"]


def rename_a_port(objects):
    first_pod(objects, "Deployment")["spec"]["containers"][0]["ports"][1]["name"] = "numbers"


def forget_the_limit(objects):
    pods = [t for _, t in policy.pod_templates(objects) if t["metadata"]["labels"]["app.kubernetes.io/name"] == "gp-worker"]
    del pods[0]["spec"]["containers"][0]["resources"]["limits"]["cpu"]


def label_the_claims(objects):
    claim = next(each for each in objects if each["kind"] == "StatefulSet")["spec"]["volumeClaimTemplates"][0]
    claim["metadata"]["labels"] = {"app.kubernetes.io/version": "0.1.0"}


def turn_tls_off(objects):
    settings = next(each for each in objects if each["kind"] == "ConfigMap" and "worker.yaml" in each["data"])
    settings["data"]["worker.yaml"] += "network: {insecure: true}\n"


def turn_tls_off_by_a_variable(objects):
    first_pod(objects, "Deployment")["spec"]["containers"][0]["env"] = [{"name": "GP_GATEWAY_NETWORK_INSECURE", "value": "1"}]


def show_a_secret_to_all(objects):
    volumes = first_pod(objects, "Deployment")["spec"]["volumes"]
    next(each for each in volumes if each["name"] == "viewer")["secret"]["defaultMode"] = 0o444


def mount_what_nobody_makes(objects):
    volumes = first_pod(objects, "Deployment")["spec"]["volumes"]
    next(each for each in volumes if each["name"] == "viewer")["secret"]["secretName"] = "gp-other"


def probe_without_tls(objects):
    del first_pod(objects, "Deployment")["spec"]["containers"][0]["readinessProbe"]["httpGet"]["scheme"]


class ThePolicy(unittest.TestCase):
    def test_finds_what_it_is_for(self):
        base = render("base")
        for spoil, words in ((drop_capabilities, "keeps capabilities"), (run_as_root, "other than root"),
                             (take_latest, "no fixed version"), (lose_the_label, "selects no pod"),
                             (request_gpus, "must be in limits"), (open_the_gate, "no policy denies"),
                             (rename_a_port, "port metrics is not in every pod"), (forget_the_limit, "CPU limit in whole"),
                             (label_the_claims, "claim's template"), (turn_tls_off, "worker.yaml says insecure"),
                             (turn_tls_off_by_a_variable, "turns TLS off"), (show_a_secret_to_all, "others may read"),
                             (mount_what_nobody_makes, "nobody makes the Secret gp-other"),
                             (probe_without_tls, "speaks plain HTTP")):
            with self.subTest(spoil.__name__):
                spoiled = copy.deepcopy(base)
                spoil(spoiled)
                self.assertIn(words, "\n".join(policy.problems(spoiled)))

    def test_finds_a_grace_that_is_too_short(self):
        self.assertEqual(list(policy.saved_in_time(render("base"), 240)), [])
        self.assertIn("is killed after", "\n".join(policy.saved_in_time(render("base"), 290)))


if __name__ == "__main__":
    unittest.main()
