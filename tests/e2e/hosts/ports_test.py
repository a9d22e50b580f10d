"""Checks every port that a service on two hosts and a gateway open: who can connect, and what a stranger gets as an answer.
Then tries credentials that are wrong, expired, revoked, swapped or used twice: each is refused with the right code and
audited."""

import concurrent.futures
import json
import pathlib
import socket
import ssl
import sys

import network
from waiting import wait_for  # importing network adds the folder to sys.path

STRANGER_SECONDS_MAX = 20
GARBAGE = bytes(range(256)) * 4

# The probe: this file, run with the argument `probe` in a host's namespace; it prints JSON.


def is_open(address, port):
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as client:
        client.settimeout(5)
        return client.connect_ex((address, port)) == 0


def sweep(address):
    with concurrent.futures.ThreadPoolExecutor(64) as pool:
        ports = range(1, 65536)
        return [port for port, found in zip(ports, pool.map(lambda port: is_open(address, port), ports)) if found]


def answer_to(address, port, sent):
    """What the server sends until it closes the connection: bytes, or the error's name."""
    with socket.create_connection((address, port), timeout=STRANGER_SECONDS_MAX) as client:
        client.sendall(sent)
        got = b""
        try:
            while len(got) < 4096:
                piece = client.recv(4096)
                if not piece:
                    return "closed", got
                got += piece
        except ConnectionResetError:
            return "closed", got
        except TimeoutError:
            return "silent", got
        return "talks", got


def handshake(address, port, newest):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.maximum_version = newest
    context.set_alpn_protocols(["h2"])
    try:
        with socket.create_connection((address, port), timeout=STRANGER_SECONDS_MAX) as client:
            with context.wrap_socket(client) as secured:
                return secured.version()
    except OSError as error:
        return type(error).__name__


def probe(address, port):
    how, got = answer_to(address, port, GARBAGE)
    web, page = answer_to(address, port, b"GET /metrics HTTP/1.0\r\n\r\n")
    return {"port": port, "garbage": how, "garbage_bytes": len(got), "http": web,
            "http_status": page.split(b"\r\n")[0].decode("ascii", "replace") if page.startswith(b"HTTP/") else "",
            "tls12": handshake(address, port, ssl.TLSVersion.TLSv1_2),
            "tls13": handshake(address, port, ssl.TLSVersion.TLSv1_3)}


def probe_main(address):
    print(json.dumps([probe(address, port) for port in sweep(address)]))


# The test.


def listeners_of(host):
    """{(address, port): program} of the host's listening sockets, as `ss` reports them."""
    found = {}
    for line in host.answer("ss -Hltnp").splitlines():
        fields = line.split()
        address, port = fields[3].rsplit(":", 1)
        found[(address.strip("[]").removeprefix("::ffff:"), int(port))] = fields[5].split('"')[1]
    return found


def probed(host, address):
    return json.loads(host.answer(f"/usr/bin/python3 {pathlib.Path(__file__)} probe {address}", timeout=280))


def show(host, listeners, reached):
    print(f"\nhost {host.name}")
    for (address, port), program in sorted(listeners.items(), key=lambda entry: (entry[1], entry[0])):
        seen = next((entry for entry in reached if entry["port"] == port and address not in ("127.0.0.1", "::1")), None)
        print(f"  {program:<16}{address}:{port:<7}" + ("this host alone" if seen is None else
              f"others: garbage -> {seen['garbage']}, HTTP -> {seen['http_status'] or seen['http']}, "
              f"TLS 1.2 -> {seen['tls12']}, TLS 1.3 -> {seen['tls13']}"))


def check_ports(host, listeners, reached, coordinator):
    """Only the coordinator can be reached from outside, and it speaks TLS 1.3 only. A trainer's port is open only until its
    peers have connected; the tests of the collectives check who can use it then."""
    assert [entry["port"] for entry in reached] == ([7070] if coordinator else []), reached
    for entry in reached:
        assert entry["garbage"] == "closed" and entry["http"] == "closed" and not entry["http_status"], entry
        assert entry["tls13"] == "TLSv1.3" and entry["tls12"] not in ("TLSv1.2", "TLSv1.3"), entry
    others = {address for address, _ in listeners} - {"127.0.0.1", "::1", host.address}
    assert not others, f"{host.name} listens on {others}"


def refused(host, command, words, code=4):
    done = host.run(command, check=False)
    assert done.returncode == code and words in done.stdout, (command, done.returncode, done.stdout)


def check_credentials(a, b, server, shared):
    a.run(f"gpctl token create --name eve --role viewer --out {b.home}/eve.token")
    text = pathlib.Path(b.home, "eve.token").read_text(encoding="ascii").strip()
    b.run(f"gpctl login {server} --token-file eve.token")

    kind, user, identifier, secret, digest = text.split("_")
    turned = secret[:-1] + ("0" if secret[-1] != "0" else "1")
    wrong = "_".join([kind, user, identifier, turned, digest])
    pathlib.Path(b.home, "wrong.token").write_text(wrong + "\n", encoding="ascii")
    pathlib.Path(b.home, "wrong.token").chmod(0o600)
    refused(b, "GPCTL_TOKEN_FILE=wrong.token gpctl list", "unknown token")

    a.run(f"gpctl token create --name late --role viewer --ttl 1s --out {b.home}/late.token")
    wait_for("the token's end", lambda: b.run("GPCTL_TOKEN_FILE=late.token gpctl list", check=False).stdout,
             lambda said: "expired" in said)

    a.run(f"gpctl token revoke {identifier}")
    refused(b, "gpctl list", "revoked")

    a.run(f"gpctl token create --join --ttl 10m --out {b.home}/swapped.token")
    done = b.run(f"gpctl login {server} --token-file swapped.token", check=False)
    assert done.returncode != 0 and "join" in done.stdout, done.stdout
    done = b.run(f"timeout 120 gp-worker --coordinator {server} --join-token-file eve.token --state-dir other "
                 f"--storage-root {shared} --metrics-listen 127.0.0.1:0", check=False)
    assert done.returncode not in (0, 124) and "user's token" in done.stdout, done.stdout
    done = b.run(f"timeout 120 gp-worker --coordinator {server} --join-token-file join.token --state-dir other "
                 f"--storage-root {shared} --metrics-listen 127.0.0.1:0", check=False)
    assert done.returncode not in (0, 124) and "used" in done.stdout, done.stdout

    audited = a.answer("gpctl audit list -o json")
    for words in ("UNAUTHENTICATED", "expired", "revoked", "used"):
        assert words in audited, words
    assert secret not in audited and turned not in audited
    a.run("gpctl audit verify")


def main():
    with network.two_hosts() as (a, b, shared):
        network.write_run(a, shared, steps=1000000, layers=2, heads=2, channels=64, checkpoint_every=1000)
        server = network.two_nodes(a, b, shared)
        a.run("gpctl wait both --for step=20")

        for host, stranger in ((a, b), (b, a)):
            listeners = listeners_of(host)
            reached = probed(stranger, host.address)
            show(host, listeners, reached)
            check_ports(host, listeners, reached, coordinator=host is a)
        check_credentials(a, b, server, shared)

        run = json.loads(a.answer("gpctl status both -o json"))
        assert run["state"] == "running" and run["epoch"] == 1, f"the strangers disturbed the run: {run}"
        a.run("gpctl cancel both --now")
        a.run("gpctl down")


if __name__ == "__main__":
    probe_main(sys.argv[2]) if sys.argv[1:2] == ["probe"] else main()
