"""YAML as editors and gp read it: the core schema of YAML 1.2, in which 6e-4 is a number and `yes` is text."""

import json
import re

import yaml

_FIRST = {
    "null": (r"^(?:~|null|Null|NULL|)$", "~nN"),
    "bool": (r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    "int": (r"^[-+]?[0-9]+$", "-+0123456789"),
    "float": (r"^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$", "-+.0123456789"),
}
_PLAIN = re.compile(r"[A-Za-z0-9._/^-]+")
_NOT_TEXT = re.compile(r"(?i)null|true|false")


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers = {}


for _name, (_pattern, _characters) in _FIRST.items():
    for _character in [*_characters, *([""] if _name == "null" else [])]:
        _Loader.yaml_implicit_resolvers.setdefault(_character, []).append((f"tag:yaml.org,2002:{_name}", re.compile(_pattern)))


def load(text):
    return yaml.load(text, _Loader)


def dump(value):
    """One line. Text is plain where it can be, as people write it: in quotes, 90s would be no duration."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)}: {dump(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(dump(inner) for inner in value) + "]"
    if isinstance(value, str) and _PLAIN.fullmatch(value) and not _NOT_TEXT.fullmatch(value):
        return value
    return json.dumps(value)
