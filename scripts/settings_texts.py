"""What the daemons print about their settings with --explain. For scripts that write pages and schemas from it."""

import re
import subprocess

PROGRAMS = ("gp-coordinator", "gp-worker", "gp-gateway")


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def explain(program, key):
    return output_of(program, "--explain", key)


def keys_of(program):
    return re.findall(r"^  ([a-z_]+(?:\.[a-z_]+)+) ", explain(program, "all"), re.MULTILINE)


def facts_of(text):
    """{'meaning': …, 'must be': …, 'default': …, 'flag': …, 'variable': …} of one key's explanation."""
    lines = text.splitlines()
    facts = {"meaning": lines[1].strip()}
    for line in lines[2:]:
        name, _, value = line.strip().partition("  ")
        facts[name] = value.strip()
    return facts
