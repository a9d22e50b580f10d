"""The Debian packages install on a bare Debian and run there as the systemd units specify; an upgrade keeps state and settings.

packages_test.py BUILD-TREE
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import buildah

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(SOURCE / "tests/e2e"))

from waiting import wait_for  # noqa: E402

SERVER = "unix:/run/gp/coordinator.sock"
DAEMONS = ("gp-coordinator", "gp-worker", "gp-gateway")
LARGER = "99.0.0"
TEXT = "she sells sea shells by the sea shore\n" * 400


def unit_of(daemon):
    text = (SOURCE / f"deploy/systemd/{daemon}.service").read_text(encoding="utf-8")
    return {key: value for key, value in re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE)}


class Units(unittest.TestCase):
    """The systemd units, verified by systemd without starting them."""

    def test_are_valid(self):
        for daemon in DAEMONS:
            done = subprocess.run(["systemd-analyze", "verify", SOURCE / f"deploy/systemd/{daemon}.service"],
                                  check=False, capture_output=True, text=True)
            # Ignore that the programs are not installed on this machine.
            problems = [line for line in done.stderr.splitlines()
                        if f"/usr/bin/{daemon}" not in line and "Failed to " not in line]
            self.assertEqual(problems, [])

    def test_give_little_away(self):
        for daemon in DAEMONS:
            done = subprocess.run(["systemd-analyze", "security", "--offline=true",
                                   SOURCE / f"deploy/systemd/{daemon}.service"], check=False, capture_output=True, text=True)
            exposure = re.search(r"exposure level for \S+ ([\d.]+)", done.stdout)
            self.assertLessEqual(float(exposure.group(1)), 2.5, done.stdout)

    def test_wait_longer_than_a_save_takes(self):
        worker = (SOURCE / "deploy/debian/worker.yaml").read_text(encoding="utf-8")
        self.assertIn("stop_grace: 4m", worker)
        self.assertEqual(unit_of("gp-worker")["TimeoutStopSec"], "5min")


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = cls.enterClassContext(tempfile.TemporaryDirectory(prefix="gp-packages-"))
        cls.folders = {}
        for version in (None, LARGER):
            folder = pathlib.Path(cls.scratch, version or "first")
            folder.mkdir()
            buildah.make_packages(sys.argv[1], folder, version)
            cls.folders[version] = folder

    def install(self, container, version, *names):
        folder = self.folders[version]
        paths = [f"/packages/{path.name}" for name in names for path in folder.glob(f"{name}_*.deb")]
        container.install(*paths, volumes=[f"{folder}:/packages:ro"])

    def start(self, container, daemon, ready):
        """Starts a daemon as its unit does: same command line, same user, and the directories that tmpfiles makes."""
        unit = unit_of(daemon)
        log = pathlib.Path(self.scratch, f"{daemon}.log")
        process = container.start(*unit["ExecStart"].split(), user=unit["User"], log=log)
        try:
            wait_for(f"{daemon} logs '{ready}'", lambda: ready in log.read_text(), process=process)
        except AssertionError:
            print(log.read_text())
            raise
        return process

    def gpctl(self, container, *words, check=True):
        return container.run("gpctl", *words, "--server", SERVER, user="gp", check=check, variables={"HOME": "/tmp"}).stdout

    def states(self, container):
        return {run["name"]: run["state"] for run in json.loads(self.gpctl(container, "list", "-a", "-o", "json"))["items"]}

    def test_install_run_and_upgrade(self):
        with buildah.Container(buildah.BASE) as root:
            self.install(root, None, "gpctl", "gp-engine", *DAEMONS)
            for name in ("coordinator", "worker", "gateway"):
                root.run(f"gp-{name}", "--config", f"/etc/gp/{name}.yaml", "--check-config", user="gp")
            root.run("bash", "-c", "grep -q '^d /run/gp 0750 gp gp' /usr/lib/tmpfiles.d/gp-worker.conf"
                     " && install -d -o gp -g gp -m 0750 /run/gp")
            root.run("bash", "-c", "sed -i 's/slots: 1/slots: 2/' /etc/gp/worker.yaml"
                     f" && printf '%s' '{TEXT}' >/srv/gp/smoke.txt"
                     " && cp /usr/share/gp/configs/runs/smoke.yaml /srv/gp/smoke.yaml && chown gp: /srv/gp/smoke.*")
            coordinator = self.start(root, "gp-coordinator", "coordinator serves")
            worker = self.start(root, "gp-worker", "worker started")
            self.gpctl(root, "submit", "/srv/gp/smoke.yaml", "--wait")
            self.assertEqual(self.states(root), {"smoke": "succeeded"})
            for process in (worker, coordinator):
                self.assertEqual(root.stop(process), 0)

            self.install(root, LARGER, "gpctl", "gp-engine", *DAEMONS)
            versions = root.run("dpkg-query", "-W", "-f", "${Package} ${Version}\n", *DAEMONS).stdout
            self.assertEqual(versions.count(LARGER), 3, versions)
            root.run("grep", "-q", "slots: 2", "/etc/gp/worker.yaml")
            coordinator = self.start(root, "gp-coordinator", "coordinator serves")
            self.assertEqual(self.states(root), {"smoke": "succeeded"})
            self.assertEqual(root.stop(coordinator), 0)

            root.run("apt-get", "-qq", "purge", "-y", *DAEMONS)
            root.run("test", "-f", "/var/lib/gp/coordinator/gp.db")
            root.run("bash", "-c", "test -d /srv/gp/runs && test ! -e /etc/gp/coordinator.yaml")

    def test_hold_what_they_are_for(self):
        names = {path.name.partition("_")[0] for path in self.folders[None].glob("*.deb")}
        self.assertEqual(names, {"gpctl", "gp-engine", *DAEMONS})
        for path in self.folders[None].glob("*.deb"):
            listing = buildah.run("dpkg-deb", "--contents", path).stdout
            self.assertNotIn(" ./usr/local/", listing)
            depends = buildah.run("dpkg-deb", "--field", path, "Depends").stdout
            self.assertIn("libc6", depends)
            print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB, depends on {depends.strip()[:70]}…")


if __name__ == "__main__":
    buildah.skip_where_it_cannot_run()
    unittest.main(argv=sys.argv[:1])
