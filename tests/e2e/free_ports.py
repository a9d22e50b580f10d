"""Ports for programs of others that cannot choose one themselves."""

import pathlib
import random
import socket


def free_ports(count):
    """So many ports that are free now, below those that the kernel gives to everybody who asks for any: nobody is given
    one of them before the program takes it."""
    first_given = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii").split()[0])
    found = []
    for port in random.sample(range(first_given // 2, first_given), 100):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        found.append(port)
        if len(found) == count:
            return found
    raise AssertionError(f"no {count} of 100 ports below {first_given} are free")
