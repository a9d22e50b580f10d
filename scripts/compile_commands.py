"""The compile commands of a build tree, for checks that run clang over the project's own sources."""

import json
import pathlib
import re
import shlex

UNITED = re.compile(r'^#include "([^"]+\.cc)"', re.MULTILINE)


def place_of(file, root):
    """The path of a file in the project. For a generated file that includes several sources, build/PRESET/unity/FOLDER/…, it is
    FOLDER/…"""
    relative = file.relative_to(root) if file.is_relative_to(root) else pathlib.PurePath("/")
    united = relative.parts[:1] == ("build",) and relative.parts[2:3] == ("unity",)
    return pathlib.PurePath(*relative.parts[3:]) if united else relative


def is_ours(file, root):
    """Whether the file belongs to the project and is neither a test nor generated."""
    return place_of(file, root).parts[0] not in ("/", "build", "tests", ".deps")


def read(root, preset):
    """The entries of our sources. FileNotFoundError when the tree is not configured."""
    database = root / "build" / preset / "compile_commands.json"
    return [entry for entry in json.loads(database.read_text(encoding="utf-8"))
            if is_ours(pathlib.Path(entry["file"]), root)]


def arguments(entry):
    """The part of the command that clang needs: without the compiler, the output and the headers that g++ has precompiled
    (-include); clang reads what the source itself includes."""
    words = shlex.split(entry["command"])
    kept = words[next(i for i, word in enumerate(words) if word.endswith("++")) + 1:]
    for option in ("-o", "-c", "-include"):
        if option in kept:
            place = kept.index(option)
            del kept[place:place + 2]
    return [word for word in kept if word != "-Winvalid-pch"]


def by_source(entries, root):
    """{source: entry}, also for the sources that are compiled together. Paths are relative to `root`."""
    found = {}
    for entry in entries:
        file = pathlib.Path(entry["file"])
        if place_of(file, root) == file.relative_to(root):
            found[str(place_of(file, root))] = entry
            continue
        for name in UNITED.findall(file.read_text(encoding="utf-8")):
            source = root / "lib" / name if (root / "lib" / name).exists() else root / name
            found[str(source.relative_to(root))] = entry
    return found
