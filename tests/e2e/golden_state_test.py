"""The programs of this tree open states that earlier versions of gp left on users' disks. Everything is there, the run that was
killed continues to the same weights, a kill during the migration loses nothing, and a state of a newer version is refused with
a message."""

import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["GP_SOURCE"])
PROGRAMS = pathlib.Path(os.environ["GP_BIN"])
sys.path.append(str(SOURCE / "tests/golden/state"))

from golden_state import ARCHIVES, STORE, GoldenState  # noqa: E402
from waiting import SECONDS_MAX, wait_for  # noqa: E402

ENDED = {"succeeded": "succeeded", "muon": "succeeded", "failed": "failed", "cancelled": "cancelled"}
GOES_ON = ("running", "queued")
SECOND_DAY = {"forked": "succeeded", "paused": "paused"}  # runs that states from version 7 of the store on have
SECOND_DAY_VERSION = 7


class Service:
    """The processes that `gpctl up` starts in the home directory of a golden state."""

    def __init__(self, root):
        self.root = root
        self.home = root / "home"
        self.state = self.home / ".local/state/gp"
        self.store = self.home / STORE

    def run(self, program, *arguments, **variables):
        return subprocess.run([PROGRAMS / program, *arguments], check=False, capture_output=True, text=True, timeout=SECONDS_MAX,
                              cwd=self.root, env={**os.environ, "HOME": str(self.home), **variables})

    def gpctl(self, *arguments):
        done = self.run("gpctl", *arguments)
        if done.returncode != 0:
            raise AssertionError(f"gpctl {arguments}: exit {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout

    def up(self):
        return self.gpctl("up", "--detach", "--workers", "1")

    def refused_up(self):
        done = self.run("gpctl", "up", "--detach", "--workers", "1")
        if done.returncode == 0:
            raise AssertionError(f"gpctl up took it: {done.stdout}")
        return done.stderr

    def list_of(self, *arguments):
        return json.loads(self.gpctl(*arguments, "-o", "json"))["items"]

    def states(self):
        return {run["name"]: run["state"] for run in self.list_of("list", "-a")}

    def checkpoints(self, name):
        run = json.loads(self.gpctl("status", name, "-o", "json"))["run_id"]
        return self.state / "storage/runs" / run / "checkpoints"

    def last_weights(self, name):
        return max(self.checkpoints(name).glob("step-*/model.safetensors")).read_bytes()

    def version(self, set_to=None):
        database = sqlite3.connect(self.store)
        if set_to is not None:
            database.execute(f"PRAGMA user_version = {set_to}")
            database.commit()
        version = database.execute("PRAGMA user_version").fetchone()[0]
        database.close()
        return version


def version_of_a_new_store():
    with tempfile.TemporaryDirectory(prefix="gp-new-", dir="/tmp") as root:
        (pathlib.Path(root) / "home").mkdir()
        service = Service(pathlib.Path(root))
        service.up()
        service.gpctl("down")
        return service.version()


class GoldenStates(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.newest_version = version_of_a_new_store()

    def opened(self, archive):
        service = Service(self.enterContext(GoldenState(archive)))
        service.has_second_day = service.version() >= SECOND_DAY_VERSION
        self.addCleanup(service.run, "gpctl", "down")
        return service

    def each(self):
        self.assertTrue(ARCHIVES)
        for archive in ARCHIVES:
            with self.subTest(archive.name):
                yield self.opened(archive)

    def each_older(self):
        """Those that are migrated."""
        older = [service for service in self.each() if service.version() < self.newest_version]
        self.assertTrue(older)
        yield from older

    def check_content(self, service):
        states = service.states()
        settled = ENDED | (SECOND_DAY if service.has_second_day else {})
        self.assertEqual({name: states[name] for name in settled}, settled)
        self.assertEqual(set(states), {*settled, *GOES_ON})
        muon = service.list_of("ckpt", "list", "muon")
        held = [pathlib.Path(item["directory"]) for item in muon if item["state"] == "quarantined"]
        self.assertEqual(len(held), 1, muon)
        # That version renamed damaged checkpoints; a thread of the coordinator restores the original name and adds a mark.
        wait_for("the old name and a mark", lambda: sorted(path.name for path in held[0].parent.glob(held[0].name + "*")),
                 until=[held[0].name, held[0].name + ".quarantined"].__eq__)
        tokens = {token["name"]: token for token in service.list_of("token", "list")}
        self.assertEqual(set(tokens), {"ana", "gone"})
        self.assertIn("intact", service.gpctl("audit", "verify"))
        self.assertIn('"step":600', service.gpctl("metrics", "succeeded", "-o", "json").replace(" ", ""))

    def test_everything_is_there_and_the_killed_run_ends_with_the_same_weights(self):
        for service in self.each():
            service.up()
            self.check_content(service)
            for name in GOES_ON:
                service.gpctl("wait", name)
            self.assertEqual({service.states()[name] for name in GOES_ON}, {"succeeded"})
            self.assertEqual(service.last_weights("running"), service.last_weights("succeeded"))

    def test_the_second_day_goes_on(self):
        for service in self.each():
            if not service.has_second_day:
                continue
            service.up()
            service.gpctl("resume", "paused")
            service.gpctl("wait", "paused")
            self.assertEqual(service.last_weights("paused"), service.last_weights("succeeded"))
            self.assertIn("succeeded@500", service.gpctl("lineage", "forked"))
            self.assertEqual(json.loads(service.gpctl("status", "forked", "-o", "json"))["progress"]["step"], 700)
            done = service.run("gpctl", "status", "deleted")
            self.assertIn("deleted", done.stderr)
            service.gpctl("fork", "forked@700", "--name", "later", "--steps", "+20", "--wait")

    def test_models_are_sampled_exported_and_trained_from(self):
        for service in self.each():
            service.up()
            for model in ("succeeded", "muon", "cancelled", service.root / "imported"):
                self.assertIn("the ", service.gpctl("sample", model, "--prompt", "the ", "--max-tokens", "20"))
            self.assertEqual(service.gpctl("sample", "succeeded", "--seed", "3", "--max-tokens", "20"),
                             service.gpctl("sample", service.root / "imported", "--seed", "3", "--max-tokens", "20"))
            service.gpctl("export", "muon", service.root / "exported")
            self.assertTrue((service.root / "exported/model.safetensors").exists())
            service.gpctl("ckpt", "verify", "succeeded")
            self.assertIn("loss", service.gpctl("eval", "succeeded", "--file", service.root / "text.txt"))

    def test_an_older_state_is_backed_up_first(self):
        for service in self.each_older():
            before = service.version()
            service.up()
            backups = list((service.state / "coordinator/backups").iterdir())
            self.assertEqual([backup.name for backup in backups], [f"version-{before}"])
            self.assertEqual(service.version(), self.newest_version)

    def test_a_kill_in_the_middle_of_the_migration_loses_nothing(self):
        for failpoint in ("database.before_migration_commit", "database.after_migration"):
            for service in self.each_older():
                before = service.version()
                done = service.run("gpctl", "up", "--detach", "--workers", "1", GP_FAILPOINT=f"{failpoint}:kill")
                self.assertNotEqual(done.returncode, 0, failpoint)
                self.assertEqual(service.version() == before, failpoint == "database.before_migration_commit")
                service.up()
                self.check_content(service)

    def test_a_state_of_a_newer_version_is_refused(self):
        for service in self.each_older():
            service.up()
            service.gpctl("down")
            newest = service.version()
            service.version(set_to=newest + 1)
            words = service.refused_up()
            self.assertIn(f"has version {newest + 1}, written by a newer gp (gp ", words)
            self.assertIn(f"restore (--restore) a backup that this version reads: {service.state}/coordinator/backups/version-", words)

    def test_each_other_file_of_a_newer_version_is_refused(self):
        for service in self.each():
            service.up()
            service.gpctl("down")
            for path, newer, words in (
                    (service.state / "worker/format.json", '{"format":"gp-agent","version":99}', "the agent's state directory"),
                    (service.state / "service.json", '{"apiVersion":"gp/v99"}', "apiVersion gp/v99, written by a newer gpctl"),
                    (service.state / "context", "apiVersion: gp/v99\n", "apiVersion gp/v99, written by a newer gpctl")):
                with self.subTest(path.name):
                    kept = path.read_text()
                    path.write_text(newer)
                    said = self.refusal(service, path)
                    self.assertIn(words, said)
                    self.assertIn(str(path.parent if path.name == "format.json" else path), said)
                    path.write_text(kept)

    def refusal(self, service, path):
        if path.name == "format.json":
            return service.refused_up()
        done = service.run("gpctl", "list", "--state-dir", service.state)
        self.assertNotEqual(done.returncode, 0)
        return done.stdout + done.stderr


if __name__ == "__main__":
    if "avx2" not in pathlib.Path("/proc/cpuinfo").read_text():
        print("this processor lacks AVX2, with which the golden states were made")
        sys.exit(77)
    unittest.main()
