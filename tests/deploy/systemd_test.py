"""The Debian packages under a real systemd, in a virtual machine with its own kernel: the commands of docs/operations/hosts.md;
stops, restarts and kills while a run trains; and the control groups of the trainers.

systemd_test.py BUILD-TREE [Systemd.TEST…]
"""

import json
import pathlib
import re
import sys
import tempfile
import unittest

import buildah
import page_blocks
import vm

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(SOURCE / "tests/e2e"))

from waiting import wait_for  # noqa: E402

PAGE = SOURCE / "docs/operations/hosts.md"
SERVER = "--server unix:/run/gp/coordinator.sock"
DAEMONS = ("gp-coordinator", "gp-worker", "gp-gateway")
EXPOSURE_MAX = 2.5
OPERATOR = "/opt"  # where the commands of the page are typed
TEXT = "she sells sea shells by the sea shore\n" * 400
STEPS_BETWEEN = 10
SECONDS_MAX = 240  # an emulated processor needs half a minute to start a trainer
TOO_LITTLE = 50_000_000  # bytes; the smallest trainer needs 70 MB
# Intervals so long that only a stop saves a checkpoint; each test cancels its run.
NEVER = 100_000_000
ENDLESS = " ".join(f"--set {key}={NEVER}" for key in ("budget.steps", "checkpoint.every", "eval.every", "sample.every"))


def commands_of_page(section):
    """The commands in a section of the page that are marked as executed by this test."""
    text = PAGE.read_text(encoding="utf-8").split(f"## {section}\n")[1].split("\n## ")[0]
    return [line.removeprefix("# ") for block in page_blocks.blocks_of(text) if pathlib.Path(__file__).name in block.mark
            for line in block.lines if line.startswith("# ")]


class Systemd(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="gp-systemd-")))
        (scratch / "packages").mkdir()
        buildah.make_packages(sys.argv[1], scratch / "packages")
        with buildah.Container(buildah.BASE) as container:
            cls.fill(container, scratch / "packages")
            cls.machine = vm.Machine(container, scratch)
        cls.addClassCleanup(cls.machine.stop)
        cls.machine.start()
        cls.addClassCleanup(lambda: print(cls.machine.run("journalctl --no-pager -n 100 -u 'gp-*'", check=False).stdout))
        cls.install()

    @staticmethod
    def fill(container, packages):
        """Installs the packages' dependencies and copies the package files, because the machine has no network."""
        vm.make_bootable(container)
        names = [path.name for path in packages.glob("*.deb")]
        container.install(*(f"/packages/{name}" for name in names), volumes=[f"{packages}:/packages:ro"])
        # Keep the engine installed: unpacking LibTorch takes minutes on an emulated processor.
        container.run("dpkg", "--purge", "gpctl", *DAEMONS)
        container.run("bash", "-c", "echo 'APT::Get::Assume-Yes \"true\";' >/etc/apt/apt.conf.d/nobody-answers")
        container.run("cp", "-r", "/packages", OPERATOR, volumes=[f"{packages}:/packages:ro"])

    @classmethod
    def install(cls):
        """Installs as the page describes, then adds a text and a run file."""
        for command in commands_of_page("One machine"):
            print(cls.machine.read(f"cd {OPERATOR} && {command}"), flush=True)
        cls.machine.run(f"printf '%s' '{TEXT}' >/srv/gp/smoke.txt"
                        " && sed 's,text: .*,text: [/srv/gp/smoke.txt],' /usr/share/gp/configs/runs/smoke.yaml >/srv/gp/smoke.yaml"
                        " && chown gp: /srv/gp/smoke.*")
        cls.wait_for_node()

    @classmethod
    def wait_for_node(cls):
        wait_for("an agent is connected", lambda: any(node["connected"] for node in cls.items("workers list")))

    def tearDown(self):
        for run in self.items("list"):
            self.gpctl(f"cancel {run['name']}")

    @classmethod
    def gpctl(cls, words, check=True, seconds=180):
        return cls.machine.run(f"gpctl {words} {SERVER}", check=check, seconds=seconds)

    @classmethod
    def items(cls, words):
        done = cls.gpctl(f"{words} -o json 2>/dev/null", check=False)  # gpctl announces retries on stderr
        return json.loads(done.stdout)["items"] if done.returncode == 0 else []

    def show(self, unit, name):
        return self.machine.read(f"systemctl show --property {name} --value {unit}")

    def journal(self, unit):
        return self.machine.read(f"journalctl --no-pager --output cat -u {unit}")

    def submit(self, name, options=""):
        self.gpctl(f"submit /srv/gp/smoke.yaml --name {name} {options}")

    def status(self, name):
        return json.loads(self.gpctl(f"status {name} -o json").stdout)

    def steps(self, name):
        """The steps in the run's records, in file order."""
        lines = self.machine.read(f"cat /srv/gp/runs/{self.status(name)['run_id']}/metrics.jsonl").splitlines()
        return [json.loads(line)["step"] for line in lines]

    def train_on(self, name):
        self.gpctl(f"wait {name} --for step={self.status(name)['progress']['step'] + STEPS_BETWEEN}", seconds=SECONDS_MAX)

    def assert_no_step_is_lost(self, name):
        steps = self.steps(name)
        self.assertEqual(steps, list(range(1, len(steps) + 1)))

    def trainer(self):
        return self.machine.read("pgrep --exact gp-trainer")

    def set_worker(self, section, lines):
        """Adds lines to a section of worker.yaml for this test."""
        path = "/etc/gp/worker.yaml"
        self.machine.run(f"cp {path} {path}.before && sed -i 's,^{section}:$,&\\n{lines},' {path}")
        self.addCleanup(self.machine.run, f"mv {path}.before {path} && systemctl restart gp-worker")

    def test_a_run_trains_and_is_served(self):
        self.submit("short", "--wait")
        self.assertEqual(self.status("short")["state"], "succeeded")
        self.assertIn("agent connected node=", self.journal("gp-coordinator"))
        self.assertIn("trainer exited", self.journal("gp-worker"))
        body = json.dumps({"model": "short", "prompt": "she", "max_tokens": 8})
        answer = self.machine.read(f"exec 3<>/dev/tcp/127.0.0.1/7080; printf 'POST /v1/completions HTTP/1.0\r\nHost: vm\r\n"
                                   f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n%s' '{body}' >&3; cat <&3")
        self.assertIn('"finish_reason":"length"', answer)
        self.assertIn("confined to=", self.journal("gp-gateway"))

    def test_units_give_little_away(self):
        for daemon in DAEMONS:
            words = self.machine.read(f"systemd-analyze security --no-pager {daemon} | tail -1")
            print(words)
            self.assertLessEqual(float(re.search(r"exposure level for \S+ ([\d.]+)", words).group(1)), EXPOSURE_MAX)

    def test_a_stop_and_a_kill_of_the_agent_under_a_run(self):
        self.submit("stopped", ENDLESS)
        self.gpctl(f"wait stopped --for step={STEPS_BETWEEN}", seconds=SECONDS_MAX)
        self.machine.run("systemctl stop gp-worker")
        stopped = self.status("stopped")
        self.assertEqual((stopped["state"], stopped["failures"]), ("queued", 0))
        self.assertEqual(stopped["latest_checkpoint_step"], self.steps("stopped")[-1])
        self.machine.run("systemctl start gp-worker")
        self.train_on("stopped")
        self.assert_no_step_is_lost("stopped")
        trainer = self.trainer()
        self.machine.run("systemctl kill --signal KILL --kill-whom main gp-worker")
        self.train_on("stopped")
        self.assertEqual(self.show("gp-worker", "NRestarts"), "1")
        self.assertNotEqual(self.trainer(), trainer)

    def test_a_restart_and_a_kill_of_the_coordinator_under_a_run(self):
        self.submit("watched", ENDLESS)
        self.gpctl(f"wait watched --for step={STEPS_BETWEEN}", seconds=SECONDS_MAX)
        trainer = self.trainer()
        self.machine.run("systemctl restart gp-coordinator")
        self.wait_for_node()
        self.train_on("watched")
        self.machine.run("systemctl kill --signal KILL --kill-whom main gp-coordinator")
        self.wait_for_node()
        self.train_on("watched")
        self.assertEqual(self.show("gp-coordinator", "NRestarts"), "1")
        self.assertEqual(self.trainer(), trainer)
        self.assert_no_step_is_lost("watched")

    def test_each_trainer_is_confined_and_has_a_control_group(self):
        self.submit("grouped", ENDLESS)
        self.gpctl(f"wait grouped --for step={STEPS_BETWEEN}", seconds=SECONDS_MAX)
        group = self.machine.read(f"cat /proc/{self.trainer()}/cgroup").partition("::")[2]
        self.assertRegex(group, r"^/system\.slice/gp-worker\.service/trainer-\d+$")
        self.assertEqual(self.machine.read(f"cat /sys/fs/cgroup{group}/pids.max"), "4096")
        self.assertIn("files (Landlock", self.gpctl("logs grouped").stdout)
        agent = self.show("gp-worker", "MainPID")
        self.assertIn("/gp-worker.service/agent", self.machine.read(f"cat /proc/{agent}/cgroup"))

    def test_a_trainer_beyond_its_memory_ends_alone_and_the_run_says_why(self):
        self.set_worker("trainer", f"  memory_max: {TOO_LITTLE}")
        self.machine.run("systemctl restart gp-worker")
        daemons = [self.show(daemon, "MainPID") for daemon in DAEMONS]
        self.submit("large", "--set retries.max=1 --set retries.backoff=1s")
        self.gpctl("wait large", check=False, seconds=SECONDS_MAX)
        words = self.gpctl("status large").stdout
        print(words)
        self.assertIn("out of memory: the kernel killed it at its limit of", words)
        self.assertIn("raise trainer.memory_max of this node", words)
        self.assertIn("Memory cgroup out of memory: Killed process", self.machine.read("journalctl --no-pager -k"))
        self.assertEqual([self.show(daemon, "MainPID") for daemon in DAEMONS], daemons)

    def test_an_agent_joins_with_a_token(self):
        self.machine.run("sed -i 's,^server:$,&\\n  listen: 127.0.0.1:7070,' /etc/gp/coordinator.yaml"
                         " && systemctl restart gp-coordinator")
        self.wait_for_node()
        for command in commands_of_page("Several machines"):
            self.machine.run(f"cd {OPERATOR} && {command}")
        self.machine.run(f"install -o gp -g gp -m 0600 {OPERATOR}/join.token /etc/gp/join.token")
        self.set_worker("coordinator", "  join_token_file: /etc/gp/join.token")
        self.machine.run("sed -i 's,address: .*,address: 127.0.0.1:7070,' /etc/gp/worker.yaml && systemctl restart gp-worker")
        self.wait_for_node()
        self.assertIn("joined the coordinator coordinator=127.0.0.1:7070", self.journal("gp-worker"))


if __name__ == "__main__":
    buildah.skip_where_it_cannot_run()
    vm.skip_where_it_cannot_run()
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
