"""Two hosts on one machine: network namespaces joined by a veth pair, each with its own home directory. They share the file
system, as nodes share their storage. Needs root."""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ["GP_SOURCE"])
sys.path.insert(0, str(SOURCE / "tests/e2e"))

import page_commands

PROGRAMS = pathlib.Path(os.environ["GP_BIN"])
NET = "10.99.7"

RUN = """
apiVersion: gp/v1
name: both
model: {{n_layer: {layers}, n_head: {heads}, n_embd: {channels}, n_ctx: 64, pad_vocab_to: 64}}
data: {{text: ["{text}"], tokenizer: bytes}}
resources: {{workers: 2, threads: 1}}
batch: {{micro_batch: 4, sequence: 64}}
budget: {{steps: {steps}}}
eval: {{every: 0}}
checkpoint: {{every: {checkpoint_every}}}
"""


def skip(reason):
    print(reason)
    sys.exit(77)


def ip(*words):
    return subprocess.run(["ip", *words], check=False, capture_output=True, text=True)


class Host:
    """Programs on this host reach each other over its loopback, and the other host over the wire."""

    def __init__(self, name, address, scratch):
        self.name = name
        self.address = address
        self.namespace = f"gp-{os.getpid()}-{name}"
        self.home = pathlib.Path(scratch, name)
        self.home.mkdir()
        self.environment = {"HOME": str(self.home), "PATH": f"{PROGRAMS}:/usr/sbin:/usr/bin:/sbin:/bin",
                            "LANG": "C.UTF-8", "TMPDIR": scratch, "OMP_WAIT_POLICY": "passive",
                            "GP_SOURCE": str(SOURCE), "GP_BIN": str(PROGRAMS)}
        self.background = []

    def run(self, command, check=True, timeout=300, **environment):
        """Runs a command as a user would type it; prints the command and its output."""
        print(f"{self.name}$ {command}", flush=True)
        done = subprocess.run(self._in_namespace(command), check=False, cwd=self.home, timeout=timeout,
                              env=self.environment | environment, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        print(done.stdout, end="", flush=True)
        if check and done.returncode != 0:
            sys.exit(f"{command}: exit {done.returncode}")
        return done

    def answer(self, command, timeout=60):
        """The output of a command, without printing it."""
        done = subprocess.run(self._in_namespace(command), check=False, cwd=self.home, timeout=timeout, env=self.environment,
                              text=True, stdin=subprocess.DEVNULL, capture_output=True)
        if done.returncode != 0:
            sys.exit(f"{command}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def certificate_of(self, server):
        """The fingerprint of the certificate that the server presents to this host; empty if it presents none."""
        shown = subprocess.run(self._in_namespace(f"openssl s_client -connect {server} </dev/null 2>/dev/null | "
                                                  "openssl x509 -noout -fingerprint -sha256"),
                               check=False, capture_output=True, text=True, timeout=60)
        return shown.stdout.strip()

    def start(self, command, log, **environment):
        """Starts a command in the background; its output goes to the file `log` in the home directory."""
        print(f"{self.name}$ {command} &", flush=True)
        with open(self.home / log, "wb") as output:
            process = subprocess.Popen(self._in_namespace("exec " + command), cwd=self.home,
                                       env=self.environment | environment, stdin=subprocess.DEVNULL, stdout=output,
                                       stderr=subprocess.STDOUT, start_new_session=True)
        self.background.append(process)
        return process

    def _in_namespace(self, command):
        return ["ip", "netns", "exec", self.namespace, "bash", "-c", command]

    def stop(self):
        for process in self.background:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self.background:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(60)
        for pid in ip("netns", "pids", self.namespace).stdout.split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)


@contextlib.contextmanager
def two_hosts():
    """Hosts a and b, and a directory that both see."""
    if os.geteuid() != 0:
        skip("network namespaces need root")
    if shutil.which("ip") is None:
        skip("there is no ip: it is in Debian's package iproute2")
    scratch = tempfile.mkdtemp(prefix="gp-hosts-")
    shared = pathlib.Path(scratch, "shared")
    shared.mkdir()
    hosts = [Host("a", f"{NET}.1", scratch), Host("b", f"{NET}.2", scratch)]
    try:
        made = [ip("netns", "add", host.namespace) for host in hosts]
        if any(result.returncode != 0 for result in made):
            skip(f"no network namespace can be made here: {made[0].stderr.strip()}")
        _join(hosts)
        yield hosts[0], hosts[1], shared
    finally:
        for host in reversed(hosts):
            host.stop()
            ip("netns", "del", host.namespace)
        shutil.rmtree(scratch, ignore_errors=True)


def _join(hosts):
    wires = [f"gp{os.getpid()}{host.name}" for host in hosts]
    added = ip("link", "add", wires[0], "type", "veth", "peer", "name", wires[1])
    if added.returncode != 0:
        skip(f"no veth pair can be made here: {added.stderr.strip()}")
    for host, wire in zip(hosts, wires):
        ip("link", "set", wire, "netns", host.namespace, "name", "eth0")
        ip("-n", host.namespace, "address", "add", f"{host.address}/24", "dev", "eth0")
        ip("-n", host.namespace, "link", "set", "eth0", "up")
        ip("-n", host.namespace, "link", "set", "lo", "up")


def write_run(host, shared, steps, layers, heads, channels, checkpoint_every):
    """Writes the host's run.yaml: a run `both` of a small model on two ranks, with its text in the shared directory."""
    data = shared / "data"
    data.mkdir()
    text = data / "text.txt"
    text.write_bytes((SOURCE / "docs/ARCHITECTURE.md").read_bytes())
    pathlib.Path(host.home, "run.yaml").write_text(
        RUN.format(text=text, steps=steps, layers=layers, heads=heads, channels=channels,
                   checkpoint_every=checkpoint_every), encoding="utf-8")


def blocks_of_page():
    """[(host, command, expected output lines)] for each executed block of docs/operations/two-nodes.md."""
    text = (SOURCE / "docs/operations/two-nodes.md").read_text(encoding="utf-8")
    return [_steps_of(block) for block in page_commands.executed_blocks(text)]


def _steps_of(block):
    steps = []
    for line in filter(str.strip, block.splitlines()):
        command = re.match(r"node-([12])\$ (.*)", line)
        if command:
            steps.append((int(command.group(1)) - 1, command.group(2), []))
        else:
            steps[-1][2].append(line)
    return steps


def type_block(steps, hosts, shared, **environment):
    """Runs the commands of a block as on the page, but with these hosts' addresses and directories. gp-worker, which does not
    return, is started in the background."""
    for place, command, expected in steps:
        there = command.replace("node-1:7070", f"{hosts[0].address}:7070").replace("/srv/gp", str(shared))
        there = there.replace("scp ", "cp ").replace("node-2:", f"{hosts[1].home}/")
        if there.startswith("gp-worker "):
            hosts[place].start(there, "worker.log")
            continue
        shown = hosts[place].run(there, timeout=600, **environment).stdout
        problem = page_commands.problem_of((command, expected), (0, shown))
        if problem:
            sys.exit(problem)


def two_nodes(a, b, shared, **environment):
    """Trains the file run.yaml of host a on both hosts with the first commands of the page. Returns the coordinator's
    address."""
    type_block(blocks_of_page()[0], (a, b), shared, **environment)
    return f"{a.address}:7070"


def look_at_run(a, b, shared):
    """Runs the second commands of the page, with which an operator inspects the run, and checks their output."""
    type_block(blocks_of_page()[1], (a, b), shared)
