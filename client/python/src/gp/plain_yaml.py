"""Reads the YAML that gp itself writes: context files and resolved run files.

That is block maps of scalars and of one-line lists and maps. Anything else is refused with its line, so that a file edited by
hand is never misread. Run files of people are not read here: the coordinator does that.
"""

from __future__ import annotations

import re

Tree = dict[str, "str | Tree"]

_KEY = re.compile(r"""( *)("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s"'#:{\[&*!|>%@`-](?:[^#:]|:(?! |$)|(?<! )#)*):(?: +(.*))?""")
_ESCAPES = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "0": "\0",
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "f": "\f",
    "v": "\v",
    "/": "/",
    '"': '"',
    "\\": "\\",
    " ": " ",
}
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))")
# A comment after a value that is not quoted.
_COMMENT = re.compile(r"(?:^|\s+)#.*$")
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


class NotPlain(ValueError):
    """The text is not the YAML that gp writes; the message names the line."""


def parse(text: str) -> Tree:
    """The keys and values; a list or map on one line stays text. Raises NotPlain."""
    root: Tree = {}
    open_maps: list[tuple[int, Tree]] = [(0, root)]  # (indentation, map), the innermost last
    pending: tuple[int, Tree, str] | None = None  # a key without a value, which the next line may fill
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        found = _KEY.fullmatch(line.rstrip())
        if found is None:
            raise NotPlain(f"line {number}: expected KEY: VALUE, not {line.strip()[:80]!r}")
        indentation = len(found[1])
        if pending is not None and indentation > pending[0]:
            inner: Tree = {}
            pending[1][pending[2]] = inner
            open_maps.append((indentation, inner))
        pending = None
        while len(open_maps) > 1 and indentation < open_maps[-1][0]:
            open_maps.pop()
        level, current = open_maps[-1]
        if indentation != level:
            raise NotPlain(f"line {number}: the indentation fits no line above")
        key = unquote(found[2].strip(), number)
        if key in current:
            raise NotPlain(f"line {number}: '{key}' is given twice")
        value = found[3] or ""
        current[key] = scalar(value, number)
        if not _COMMENT.sub("", value):
            pending = (indentation, current, key)
    return root


def scalar(text: str, number: int) -> str:
    if text[:1] not in ("'", '"'):
        text = _COMMENT.sub("", text).rstrip()
        if text[:1] in ("|", ">", "&", "*", "!"):
            raise NotPlain(f"line {number}: this form of YAML is not read here: {text[:80]!r}")
        return text
    return unquote(text, number)


def unquote(text: str, number: int) -> str:
    if text[:1] == '"':
        if len(text) < 2 or text[-1] != '"':
            raise NotPlain(f"line {number}: the quote does not end on its line")
        return _ESCAPE.sub(_unescaped, text[1:-1])
    if text[:1] == "'":
        if len(text) < 2 or text[-1] != "'":
            raise NotPlain(f"line {number}: the quote does not end on its line")
        return text[1:-1].replace("''", "'")
    return text


def _unescaped(found: re.Match[str]) -> str:
    code = found[1] or found[2] or found[3]
    return chr(int(code, 16)) if code else _ESCAPES.get(found[4], found[4])


def typed(text: str) -> bool | int | float | str:
    """The value of a key as a truth value or a number, if it is one."""
    if text in ("true", "false"):
        return text == "true"
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _DECIMAL.fullmatch(text) else text


def flattened(tree: Tree, path: str = "") -> dict[str, str]:
    """{"optimizer.lr": "0.001"} for {"optimizer": {"lr": "0.001"}}."""
    flat: dict[str, str] = {}
    for key, value in tree.items():
        full = f"{path}.{key}" if path else key
        if isinstance(value, dict):
            flat.update(flattened(value, full))
        else:
            flat[full] = value
    return flat
