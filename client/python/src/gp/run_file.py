"""Run files and overrides as the coordinator takes them."""

from __future__ import annotations

import collections.abc
import dataclasses
import json
import math
import os
import pathlib
import re
import typing

from gp.errors import InvalidRequest

Value = typing.Union[
    bool, int, float, str, os.PathLike[str], collections.abc.Sequence["Value"], collections.abc.Mapping[str, "Value"]
]

_BYTES_MAX = 1 << 20
SCRATCH = "scratch"  # init_from of a run that begins with new weights
_PLAIN = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_./^+-]*")  # text that YAML takes as it is
_INITIAL_MODEL = re.compile(r"""^["']?init_from["']? *: *["']?([^"'#\n]*?)["']? *(?:#.*)?$""", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class RunFile:
    """The text of a run file, and where it is from."""

    text: str
    name: str  # for messages
    directory: str  # where relative paths in it begin
    initial_model: str = SCRATCH  # its init_from


def read_run_file(source: collections.abc.Mapping[str, Value] | str | os.PathLike[str]) -> RunFile:
    """A run file from a dict, or from the YAML file at a path. Raises InvalidRequest."""
    if isinstance(source, collections.abc.Mapping):
        text = _block(_plain(source, "the run file"), "")
        return RunFile(text, "(dict)", os.getcwd(), str(source.get("init_from", SCRATCH)))
    path = pathlib.Path(os.path.abspath(source))
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InvalidRequest(f"{source}: {error.strerror}; expected a run file, 'gpctl init' writes one") from error
    if len(content) > _BYTES_MAX:
        raise InvalidRequest(f"{source} is longer than the {_BYTES_MAX} bytes a run file may have")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"{source} is not text in UTF-8: byte {error.start}") from error
    found = _INITIAL_MODEL.search(text)
    return RunFile(text, os.fspath(source), str(path.parent), found[1] if found else SCRATCH)


def refuse_initial_model(file: RunFile, overrides: collections.abc.Mapping[str, Value] | None) -> None:
    """Raises InvalidRequest if the run would begin with a model: its shape and tokenizer must be read first."""
    named = str((overrides or {}).get("init_from", file.initial_model))
    if named != SCRATCH:
        raise InvalidRequest(
            f"{file.name}: init_from: {named}: this package does not read models; begin with a checkpoint of "
            "a run by run.fork(), or submit the file with 'gpctl submit'"
        )


def override_texts(overrides: collections.abc.Mapping[str, Value] | None) -> list[str]:
    """["optimizer.lr=0.001"] for {"optimizer.lr": 1e-3}. Raises InvalidRequest for a value that no run file can have."""
    return [f"{key}={override_text(value, key)}" for key, value in (overrides or {}).items()]


def override_text(value: Value, key: str) -> str:
    plain = _plain(value, key)
    return plain if isinstance(plain, str) else _flow(plain)


def _block(tree: object, indent: str) -> str:
    """The lines of a map; maps inside it are indented, everything else is on one line."""
    lines = ""
    for key, value in typing.cast(dict[str, object], tree).items():
        is_group = isinstance(value, dict) and value
        lines += f"{indent}{_flow(key)}:" + (f"\n{_block(value, indent + '  ')}" if is_group else f" {_flow(value)}\n")
    return lines


def _flow(value: object) -> str:
    """The value on one line. Plain where it can be: `1h` is a duration and `2^19` a count, but in quotes both are text."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_flow(key)}: {_flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_flow(inner) for inner in value) + "]"
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() != "null":
        return value
    return json.dumps(value, ensure_ascii=False)


def _plain(value: object, key: str) -> object:
    """The value in the types of JSON. A pathlib.Path becomes absolute."""
    if isinstance(value, collections.abc.Mapping):
        return {_key(name, key): _plain(inner, f"{key}.{name}") for name, inner in value.items()}
    if isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidRequest(f"{key} is {value}, which no key can have")
        return value
    if isinstance(value, os.PathLike):
        return os.path.abspath(value)
    if isinstance(value, collections.abc.Sequence) and not isinstance(value, (bytes, bytearray)):
        return [_plain(inner, f"{key}[{index}]") for index, inner in enumerate(value)]
    item = getattr(value, "item", None)  # a number of numpy
    if callable(item):
        return _plain(item(), key)
    shown = "None" if value is None else f"a {type(value).__name__}"
    raise InvalidRequest(
        f"{key} is {shown}; expected a number, text, True or False, a list or a dict; leave the key out to keep its default"
    )


def _key(name: object, key: str) -> str:
    if isinstance(name, str):
        return name
    raise InvalidRequest(f"{key} has the key {name!r}; expected text")
