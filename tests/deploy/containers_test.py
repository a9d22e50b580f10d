"""Builds the container images. They are small and run as an unprivileged user; started as in docker/compose.yaml they train
and serve a run together.

containers_test.py BUILD-TREE      whose programs are packaged for the images
"""

import hashlib
import json
import pathlib
import re
import ssl
import sys
import tempfile
import time
import unittest
import urllib.request

import buildah

try:
    import yaml
except ImportError:
    buildah.skip("PyYAML is not installed (Debian: python3-yaml)")

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(SOURCE / "tests/e2e"))

from waiting import wait_for  # noqa: E402

IMAGES = ("gp-coordinator", "gp-worker", "gp-gateway")
BYTES_MAX = {"gp-coordinator": 400e6, "gp-worker": 900e6, "gp-gateway": 900e6}
COMPILERS = ("cc", "gcc", "g++", "c++", "clang", "ld", "make", "cmake", "nvcc")
PREFIX = "gp-test/"
API_KEY = "a key of this test"
TEXT = "she sells sea shells by the sea shore\n" * 400
SERVICES = yaml.safe_load((SOURCE / "docker/compose.yaml").read_text(encoding="utf-8"))


def image_of(name):
    return f"localhost/{PREFIX}{name}:0.1.0"


def bytes_of(image):
    """The size in bytes of all files of an image, including its base."""
    name = buildah.run("buildah", "from", "--pull-never", image).stdout.strip().splitlines()[-1]
    folder = buildah.run("buildah", "mount", name).stdout.strip()
    size = int(buildah.run("du", "--summarize", "--bytes", "--one-file-system", folder).stdout.split()[0])
    buildah.run("buildah", "rm", name)
    return size


class Service:
    """The containers of compose.yaml, with folders of this machine as volumes. The kernel chooses the ports, because all
    containers share the machine's network."""

    def __init__(self, scratch):
        self.scratch = pathlib.Path(scratch)
        self.containers = {}
        self.processes = {}

    def volumes_of(self, name):
        for volume in SERVICES["services"][name]["volumes"]:
            source, target, *mode = volume.split(":")
            folder = self.scratch / pathlib.Path(source).name
            if not folder.exists():
                folder.mkdir()
                folder.chmod(0o750)
                buildah.run("chown", "65532:65532", folder)
            yield ":".join([str(folder), target, *mode])

    def start(self, name, **variables):
        image = SERVICES["services"][name]["image"].partition(":")[0]
        config = json.loads(buildah.run("buildah", "inspect", "--type", "image", image_of(image)).stdout)["Docker"]["config"]
        container = self.containers[name] = buildah.Container(image_of(image))
        log = self.scratch / f"{name}.log"
        self.processes[name] = container.start(
            *config["Entrypoint"], *config["Cmd"], log=log, user=config["User"], volumes=list(self.volumes_of(name)),
            variables={**SERVICES["services"][name].get("environment", {}), **variables})
        return config

    def inside(self, name, *words, check=True):
        return self.containers[name].run(*words, user="65532:65532", volumes=list(self.volumes_of(name)), check=check)

    def log(self, name):
        return (self.scratch / f"{name}.log").read_text(encoding="utf-8")

    def stop(self, name):
        return self.containers[name].stop(self.processes[name])

    def close(self):
        for name in reversed(list(self.containers)):
            self.containers[name].__exit__()


class Images(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = cls.enterClassContext(tempfile.TemporaryDirectory(prefix="gp-containers-"))
        packages = pathlib.Path(cls.scratch, "packages")
        packages.mkdir()
        buildah.make_packages(sys.argv[1], packages)
        started = time.monotonic()
        buildah.run("env", "GP_BUILDER=buildah", SOURCE / "scripts/build_images", "--prefix", PREFIX, "--packages", packages)
        print(f"built {', '.join(IMAGES)} in {time.monotonic() - started:.0f} s")

    @classmethod
    def tearDownClass(cls):
        # Needs --force: buildah keeps the containers of the build stage that provides the packages.
        buildah.run("buildah", "rmi", "--force", *(image_of(name) for name in (*IMAGES, "gp-packages")), check=False)

    def test_are_small(self):
        for name in IMAGES:
            size = bytes_of(image_of(name))
            print(f"{name}: {size / 1e6:.0f} MB")
            self.assertLess(size, BYTES_MAX[name], name)

    def test_hold_no_compiler_and_run_as_nobody(self):
        for name in IMAGES:
            image = json.loads(buildah.run("buildah", "inspect", "--type", "image", image_of(name)).stdout)["Docker"]["config"]
            self.assertEqual(image["User"], "65532:65532")
            self.assertEqual(image["Labels"]["org.opencontainers.image.title"], name)
            self.assertEqual(image["Labels"]["org.opencontainers.image.version"], "0.1.0")
            self.assertTrue(image["Healthcheck"]["Test"])
            with buildah.Container(image_of(name)) as container:
                for compiler in COMPILERS:
                    self.assertNotEqual(container.run("which", compiler, check=False).returncode, 0, compiler)
                self.assertIn("0.1.0", container.run(name, "--version").stdout)

    def test_train_and_serve_a_run(self):
        service = Service(tempfile.mkdtemp(dir=self.scratch))
        self.addCleanup(service.close)
        config = service.start("coordinator", GP_COORDINATOR_METRICS_LISTEN="127.0.0.1:0")
        health = config["Healthcheck"]["Test"][1:]
        wait_for("the coordinator is healthy", lambda: service.inside("coordinator", *health, check=False),
                 lambda done: done.returncode == 0)
        data = service.scratch / "data"
        (data / "smoke.txt").write_text(TEXT)
        (data / "smoke.yaml").write_text((SOURCE / "configs/runs/smoke.yaml").read_text())
        service.start("worker", GP_WORKER_METRICS_LISTEN="127.0.0.1:0")
        service.inside("coordinator", "gpctl", "submit", "/data/smoke.yaml", "--wait")
        listing = json.loads(service.inside("coordinator", "gpctl", "list", "-a", "-o", "json").stdout)
        self.assertEqual([run["state"] for run in listing["items"]], ["succeeded"])
        self.make_credentials(service.scratch / "gateway")
        service.start("gateway", GP_GATEWAY_METRICS_LISTEN="127.0.0.1:0", GP_GATEWAY_SERVER_LISTEN="127.0.0.1:0")
        self.assertIn("choices", self.complete(service))
        for name in ("gateway", "worker", "coordinator"):
            self.assertEqual(service.stop(name), 0, service.log(name))

    def make_credentials(self, folder):
        """Makes the credentials as docs/operations/containers.md describes."""
        folder.mkdir()
        (folder / "keys").write_text(hashlib.sha256(API_KEY.encode()).hexdigest() + " me\n")
        buildah.run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc", "-days", "2",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
                    "-keyout", folder / "tls.key", "-out", folder / "tls.crt")
        buildah.run("chown", "65532", folder / "tls.key")

    def complete(self, service):
        found = wait_for("the gateway serves", lambda: re.search(r"gateway serves url=(https://\S+)", service.log("gateway")))
        trusted = ssl.create_default_context(cafile=service.scratch / "gateway/tls.crt")
        request = urllib.request.Request(f"{found.group(1)}/v1/completions",
                                         headers={"Content-Type": "application/json", "Authorization": f"Bearer {API_KEY}"},
                                         data=json.dumps({"model": "smoke", "prompt": "she", "max_tokens": 8}).encode())

        def answer():
            try:
                with urllib.request.urlopen(request, timeout=60, context=trusted) as response:
                    return json.load(response)
            except urllib.error.HTTPError:
                return None  # the gateway has not found its models yet

        return wait_for("an answer", answer)


class Compose(unittest.TestCase):
    """docker/compose.yaml, checked without an engine: everything it refers to exists, and it publishes ports on loopback
    only."""

    def test_names_images_that_are_built_and_volumes_that_exist(self):
        for name, service in SERVICES["services"].items():
            image, _, version = service["image"].rpartition(":")
            self.assertRegex(version, r"^v?\d")
            self.assertTrue(image in IMAGES or "/" in image, image)
            for volume in service["volumes"]:
                source = volume.split(":")[0]
                self.assertTrue(source in SERVICES["volumes"] or source.startswith("."), f"{name}: {volume}")
            self.assertLessEqual(set(service.get("depends_on", {})), set(SERVICES["services"]))

    def test_publishes_on_loopback_alone(self):
        for service in SERVICES["services"].values():
            for port in service.get("ports", []):
                self.assertTrue(port.startswith("127.0.0.1:"), port)

    def test_turns_tls_off_nowhere(self):
        self.assertNotIn("insecure", (SOURCE / "docker/compose.yaml").read_text(encoding="utf-8").lower())

    def test_gives_our_containers_no_rights(self):
        for name in ("coordinator", "worker", "gateway"):
            service = SERVICES["services"][name]
            self.assertEqual(service["cap_drop"], ["ALL"])
            self.assertTrue(service["read_only"])
            self.assertIn("no-new-privileges:true", service["security_opt"])


if __name__ == "__main__":
    buildah.skip_where_it_cannot_run()
    unittest.main(argv=sys.argv[:1])
