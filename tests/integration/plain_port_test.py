#!/usr/bin/python3
"""Starts the daemons with every combination of the settings for listening, and speaks plain HTTP/2, plain HTTP and TLS to every
TCP port that they open. Without --insecure, other machines can reach no unencrypted port, metrics that they can reach use TLS
1.3 only, and so does the coordinator's own port, also on loopback."""

import itertools
import json
import os
import pathlib
import signal
import socket
import ssl
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ["GP_SOURCE"])
sys.path.append(str(SOURCE / "tests/e2e"))

from waiting import wait_for  # noqa: E402

PROGRAMS = pathlib.Path(os.environ["GP_BIN"])
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
PATIENCE = 60
PUBLIC = "metrics.public"  # stands for this setting, which has no flag
LISTENS = "0A"  # the state of a socket in /proc/net/tcp


def sockets_of(pid):
    inodes = set()
    for entry in os.scandir(f"/proc/{pid}/fd"):
        try:
            target = os.readlink(entry.path)
        except OSError:
            continue
        if target.startswith("socket:["):
            inodes.add(target[8:-1])
    return inodes


def listening(pid):
    """[(whether other machines can reach it, port)] of the process's listening sockets."""
    inodes = sockets_of(pid)
    found = []
    for table in ("tcp", "tcp6"):
        for line in pathlib.Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            address, port = fields[1].split(":")
            if fields[3] != LISTENS or fields[9] not in inodes:
                continue
            words = [bytes.fromhex(address[i:i + 8])[::-1] for i in range(0, len(address), 8)]
            packed = b"".join(words)
            host = socket.inet_ntop(socket.AF_INET if len(packed) == 4 else socket.AF_INET6, packed)
            found.append((not (host.startswith(("127.", "::ffff:127.")) or host == "::1"), int(port, 16)))
    return found


def answers(port, said, beginnings):
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        connection.sendall(said)
        try:
            got = connection.recv(16)
        except ConnectionResetError:
            return False
    return any(beginning(got) for beginning in beginnings)


def is_settings_frame(got):
    return len(got) >= 9 and got[3] == 4


def speaks_plain(port):
    return (answers(port, PREFACE, [is_settings_frame])
            or answers(port, b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
                       [lambda got: got.startswith(b"HTTP/1.")]))


def tls_version(port, newest=ssl.TLSVersion.TLSv1_3):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.maximum_version = newest
    context.set_alpn_protocols(["h2"])
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
            with context.wrap_socket(connection) as secure:
                return secure.version()
    except (ssl.SSLError, ConnectionResetError):
        return None


class Daemon:
    """One start of a daemon; `addresses` is None if it refused its settings."""

    def __init__(self, program, arguments, directory):
        address_file = directory / "address"
        address_file.unlink(missing_ok=True)
        self.log = directory / "log"
        flags = [argument for argument in arguments if argument != PUBLIC]
        environment = dict(os.environ)
        if PUBLIC in arguments:
            environment[program.upper().replace("-", "_") + "_METRICS_PUBLIC"] = "true"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([PROGRAMS / program, "--address-file", address_file, *flags],
                                            stdout=log, stderr=log, env=environment)
        wait_for(f"{program} serves or ends", self.log.read_text,
                 lambda _: address_file.exists() or self.process.poll() is not None)
        self.addresses = json.loads(address_file.read_text()) if address_file.exists() else None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def combinations(choices):
    """Every way to choose one argument list from each entry, concatenated."""
    for chosen in itertools.product(*choices):
        yield [argument for part in chosen for argument in part]


class Sweep:
    def __init__(self, directory):
        self.directory = directory
        self.started = self.refused = self.newest = 0
        self.problems = []

    def check(self, program, arguments):
        with Daemon(program, arguments, self.directory) as daemon:
            if daemon.addresses is None:
                self.refused += 1
                if daemon.process.returncode != 2:
                    self.problems.append(f"{arguments}: exit code {daemon.process.returncode}: {daemon.log.read_text()}")
                return
            self.started += 1
            insecure = "--insecure" in arguments
            rpc = int(daemon.addresses.get("listen", ":0").rpartition(":")[2])
            metrics = int(daemon.addresses["metrics"].rpartition(":")[2])
            for reachable, port in listening(daemon.process.pid):
                plain = speaks_plain(port)
                if plain and (reachable or port == rpc) and not insecure:
                    self.problems.append(f"{program} {arguments}: port {port} speaks without TLS")
                if port == rpc and insecure and not plain:
                    self.problems.append(f"{arguments}: the probe sees no plain port where there is one")
                if not insecure and (port == rpc or (port == metrics and reachable)):
                    self.check_newest(port, [program, *arguments])

    def check_newest(self, port, arguments):
        self.newest += 1
        if tls_version(port) != "TLSv1.3":
            self.problems.append(f"{arguments}: no TLS 1.3 on port {port}")
        if tls_version(port, ssl.TLSVersion.TLSv1_2) is not None:
            self.problems.append(f"{arguments}: TLS 1.2 is served on port {port}")


def join_token(coordinator, path):
    subprocess.run([PROGRAMS / "gpctl", "token", "create", "--join", "--ttl", "10m", "--out", path, "--server", coordinator],
                   check=True, stdout=subprocess.DEVNULL)


def main():
    with tempfile.TemporaryDirectory(prefix="gp-ports-") as name:
        directory = pathlib.Path(name)
        storage = directory / "storage"
        storage.mkdir()
        common = ["--storage-root", str(storage), "--state-dir"]
        first = directory / "first"
        with Daemon("gp-coordinator", [*common, str(first), "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0"],
                    directory) as daemon:
            assert daemon.addresses, daemon.log.read_text()
        pem = str(first / "security" / "server.pem")
        more = directory / "more.yaml"
        more.write_text(f"apiVersion: gp/v1\nserver: {{advertise: [gp.example.org]}}\n"
                        f"tls: {{client_ca: {first}/security/ca.crt, lifetime: 1h}}\n")
        keys = directory / "keys"
        keys.write_text("0" * 64 + " somebody\n")
        insecure = [[], ["--insecure"]]
        metrics = [["--metrics-listen", "127.0.0.1:0"], ["--metrics-listen", "0.0.0.0:0"], ["--metrics-listen", "[::]:0", PUBLIC]]
        pair = [[], ["--tls-certificate", pem, "--tls-key", pem]]
        sweep = Sweep(directory)
        listens = [[], ["--listen", "127.0.0.1:0"], ["--listen", "0.0.0.0:0"], ["--listen", "[::]:0"]]
        for arguments in combinations([listens, insecure, metrics, pair, [[], ["--config", str(more)]]]):
            sweep.check("gp-coordinator", [*common, str(directory / "coordinator"), *arguments])
        for arguments in combinations([listens[1:3], insecure, metrics, pair, [[], ["--api-key-file", str(keys)]]]):
            sweep.check("gp-gateway", arguments)
        with Daemon("gp-coordinator", [*common, str(first), "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0"],
                    directory) as daemon:
            address = daemon.addresses["address"]
            workers = directory / "workers"
            workers.mkdir()
            worker = Sweep(workers)
            for arguments in combinations([insecure, metrics, pair]):
                worker.check("gp-worker", [*common, str(workers / "state"), "--coordinator", address, "--gpus", "none",
                                           *arguments])
            join_token(address, directory / "join.token")
            for arguments in combinations([metrics, pair]):  # the first one joins
                worker.check("gp-worker", [*common, str(workers / "joined"), "--coordinator", daemon.addresses["listen"],
                                           "--join-token-file", str(directory / "join.token"), "--gpus", "none", *arguments])
    problems = sweep.problems + worker.problems
    started, refused = sweep.started + worker.started, sweep.refused + worker.refused
    newest = sweep.newest + worker.newest
    print("\n".join(problems) or f"{started} starts, {refused} refused, {newest} ports with TLS 1.3 alone: no plain port that others "
          "reach without --insecure")
    if started < 50 or refused < 30 or newest < 20:
        print(f"{started} starts, {refused} refused: there should be more of both")
        return 1
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
