"""Agents started by deploy/slurm/gp-workers.sbatch train one run on two nodes of a real Slurm: a controller, two node daemons
on this machine, and MUNGE. One job is requeued and held in the middle: the run waits, reports why, and continues from its
newest checkpoint when the job runs again. Agents reach the coordinator over TLS and join with one token that their jobs
share.

Needs root and Debian's slurm-wlm and munge. All files are in the test's own directory, and all ports are free ones.
"""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

SOURCE = pathlib.Path(os.environ["GP_SOURCE"])
sys.path.append(str(SOURCE / "tests/e2e"))

from free_ports import free_ports  # noqa: E402
from waiting import wait_for  # noqa: E402

PROGRAMS = pathlib.Path(os.environ["GP_BIN"])
SCRIPT = SOURCE / "deploy/slurm/gp-workers.sbatch"
NODES = ("n1", "n2")

# A requeued job starts only one second after its old credentials have expired, so cred_expire is short (default 120 s).
SLURM_CONF = """\
ClusterName=gptest
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
AuthType=auth/munge
AuthInfo=socket={root}/munge.socket,cred_expire=5
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={root}/state
SlurmdSpoolDir={root}/spool-%n
SlurmctldPidFile={root}/slurmctld.pid
SlurmdPidFile={root}/slurmd-%n.pid
SlurmctldLogFile={root}/slurmctld.log
SlurmdLogFile={root}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SwitchType=switch/none
ReturnToService=2
KillWait=30
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={n1_port} CPUs=1 State=UNKNOWN
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={n2_port} CPUs=1 State=UNKNOWN
PartitionName=all Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP
"""

# So many steps that the run ends only when the test cancels it.
RUN = """\
apiVersion: gp/v1
name: two-nodes
model: {{n_layer: 2, n_head: 2, n_embd: 32, n_ctx: 32}}
data: {{text: [{text}], tokenizer: bytes}}
resources: {{workers: 2, device: cpu}}
batch: {{micro_batch: 4, sequence: 32}}
budget: {{steps: 1000000}}
checkpoint: {{every: 100}}
"""


def skip(reason):
    print(reason)
    sys.exit(77)


class Slurm:
    """A Slurm cluster in a directory. Its daemons are stopped by their pids."""

    def __init__(self, root):
        self.root = root
        ports = dict(zip(("controller_port", "n1_port", "n2_port"), free_ports(3)))
        (root / "slurm.conf").write_text(SLURM_CONF.format(host=socket.gethostname().partition(".")[0], root=root, **ports))
        (root / "munge.key").write_bytes(os.urandom(128))
        (root / "munge.key").chmod(0o600)
        self.daemons = []

    def start(self):
        root = self.root
        self.spawn("munged", "--foreground", f"--key-file={root}/munge.key", f"--socket={root}/munge.socket",
                   f"--pid-file={root}/munged.pid", f"--log-file={root}/munged.log",
                   f"--seed-file={root}/munged.seed", "--force")
        wait_for("MUNGE's socket", (root / "munge.socket").exists)
        self.spawn("slurmctld", "-D", "-i")
        for node in NODES:
            self.spawn("slurmd", "-D", "-N", node)
        wait_for("both nodes are idle", lambda: self.ask("sinfo", "-h", "-N", "-o", "%T").split(),
                 lambda states: states == ["idle", "idle"])

    def spawn(self, *command):
        with open(self.root / f"{command[0]}.out", "a", encoding="utf-8") as log:
            self.daemons.append(subprocess.Popen(command, stdout=log, stderr=log, env=self.environment()))

    def environment(self):
        return {**os.environ, "SLURM_CONF": str(self.root / "slurm.conf")}

    def ask(self, *command, **variables):
        done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=self.root,
                              env={**self.environment(), **variables}, timeout=60)
        return done.stdout.strip() if done.returncode == 0 else ""

    def stop(self):
        self.ask("scancel", "--user", "root")
        deadline = time.monotonic() + 40
        while self.ask("squeue", "-h") and time.monotonic() < deadline:
            time.sleep(0.2)
        for daemon in reversed(self.daemons):
            daemon.send_signal(signal.SIGTERM)
            try:
                daemon.wait(20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()


class AgentsInSlurm(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="gp-slurm-"))
        self.addCleanup(shutil.rmtree, self.root)
        self.slurm = Slurm(self.root)
        self.addCleanup(self.slurm.stop)
        self.slurm.start()
        self.start_coordinator()

    def start_coordinator(self):
        self.server = f"unix:{self.root}/coordinator.sock"
        with open(self.root / "coordinator.log", "w", encoding="utf-8") as log:
            process = subprocess.Popen(
                [PROGRAMS / "gp-coordinator", "--socket", f"{self.root}/coordinator.sock", "--listen", "127.0.0.1:0",
                 "--state-dir", self.root / "gp", "--storage-root", self.root / "storage", "--metrics-listen", "127.0.0.1:0",
                 "--address-file", self.root / "address"], stdout=log, stderr=log)
        self.addCleanup(lambda: (process.terminate(), process.wait(30)))
        wait_for("the coordinator serves", (self.root / "address").exists)
        self.address = json.loads((self.root / "address").read_text(encoding="utf-8"))["listen"]
        self.gpctl("token", "create", "--join", "--uses", str(len(NODES)), "--ttl", "1h", "--out", str(self.root / "gp.token"))

    def gpctl(self, *words):
        done = subprocess.run([PROGRAMS / "gpctl", *words, "--server", self.server], check=False, capture_output=True,
                              text=True, env={**os.environ, "HOME": str(self.root)}, timeout=60)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def submit_run(self):
        (self.root / "text.txt").write_text("she sells sea shells by the sea shore\n" * 400)
        (self.root / "run.yaml").write_text(RUN.format(text=self.root / "text.txt"))
        self.gpctl("submit", str(self.root / "run.yaml"))

    def submit_agent(self, node, *options):
        """Submits a job that starts an agent on this node."""
        job = self.slurm.ask(
            "sbatch", "--parsable", "--cpus-per-task=1", f"--nodelist={node}", *options, SCRIPT,
            PATH=f"{PROGRAMS}:{os.environ['PATH']}", HOME=str(self.root), GP_WORKER_COORDINATOR_ADDRESS=self.address,
            GP_WORKER_COORDINATOR_JOIN_TOKEN_FILE=str(self.root / "gp.token"),
            GP_WORKER_STORAGE_ROOT=str(self.root / "storage"), GP_WORKER_DATA_ROOTS=f"[{self.root}]",
            GP_WORKER_NODE_DATA_ADDRESS="127.0.0.1",
            GP_WORKER_TRAINER_STOP_GRACE="20s")
        self.assertTrue(job, "sbatch refused the script")
        return job

    def run_status(self):
        return json.loads(self.gpctl("status", "@last", "-o", "json"))

    def events(self):
        return self.gpctl("events", "@last")

    def test_a_run_outlives_the_job_of_one_of_its_nodes(self):
        jobs = {node: self.submit_agent(node) for node in NODES}
        self.submit_run()
        self.wait_for_step(150)

        self.slurm.ask("scontrol", "requeuehold", jobs["n2"])
        wait_for("the job of n2 is held", lambda: self.job_state(jobs["n2"]), lambda state: state == "PENDING")
        reason = wait_for("the run says what it waits for", self.waiting_reason)
        print(f"while the job of n2 is held: {reason}")
        self.assertIn("needs 2 slots, all nodes together have 1", reason)
        stopped_at = self.run_status()["latest_checkpoint_step"]
        self.assertEqual(self.job_state(jobs["n1"]), "RUNNING")

        self.slurm.ask("scontrol", "release", jobs["n2"])
        self.wait_for_step(stopped_at + 100)
        events = self.events()
        print(events)
        self.assertIn(f"resumes from step {stopped_at} when slots are free", events)
        self.assertIn(f"starting on n1:cpu-0 n2:cpu-0 from step {stopped_at}", events)
        joins = [line for line in self.gpctl("audit", "list").splitlines() if "with the join token" in line]
        print("\n".join(joins))
        self.assertEqual(len(joins), len(NODES), "the job that was queued again had its certificate")
        self.gpctl("cancel", "@last")

    def test_an_agent_drains_before_the_time_is_up(self):
        for node, limits in (("n1", ()), ("n2", ("--time=1", "--signal=B:TERM@55"))):
            job = self.submit_agent(node, *limits)
        self.submit_run()
        self.wait_for_step(10)
        wait_for("the job of n2 has ended", lambda: self.job_state(job), lambda state: state in ("", "COMPLETED"))
        done = self.slurm.ask("scontrol", "show", "job", job)
        self.assertIn("JobState=COMPLETED", done)
        self.assertIn("ExitCode=0:0", done)
        self.assertIn("a peer was stopped; resumes from step", self.events() + self.run_status()["reason"])
        self.gpctl("cancel", "@last")

    def job_state(self, job):
        return self.slurm.ask("squeue", "-h", "-j", job, "-o", "%T")

    def wait_for_step(self, step):
        wait_for(f"step {step}", lambda: self.run_status().get("progress", {}).get("step", 0), lambda at: at >= step)

    def waiting_reason(self):
        run = self.run_status()
        return run.get("reason", "") if run["state"] == "queued" else ""


if __name__ == "__main__":
    for program in ("slurmctld", "slurmd", "munged", "sbatch"):
        if not shutil.which(program):
            skip(f"{program} is not installed: scripts/bootstrap --deploy")
    if os.geteuid() != 0:
        skip("needs root: Slurm's node daemons start jobs of any user")
    unittest.main()
