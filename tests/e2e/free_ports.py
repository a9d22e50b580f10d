"""Ports for third-party programs that cannot choose a free one themselves."""

import pathlib
import random
import socket


def free_ports(count):
    """Returns `count` ports that are free now. They are below the kernel's ephemeral range, so no other process gets one of
    them as an automatically chosen port before the program binds it."""
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
