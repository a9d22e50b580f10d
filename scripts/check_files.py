#!/usr/bin/env python3
"""Checks the files that git tracks for the project's rules that no compiler checks.

    scripts/check_files.py [--root DIR]

The rules: names of files; classes of one name in a program; folders with too many units; units without a test; marks of
unfinished work; paths of one machine; clocks read outside lib/base/clock.cc; the opening comment of a header; links
between documents and their indexes; the width of prose; .cu files and build folders that no CMake file names; kernels
that do not begin with AwaitPrevious(). Prints `file:line: ...` for each finding; exit status 1 then.
"""

import argparse
import pathlib
import re
import subprocess
import sys

# A file is named after the noun inside it; these words are too vague.
EMPTY_WORDS = {"util", "utils", "common", "helper", "helpers", "misc", "manager", "managers"}
OTHERS_NAMES = ("cert-manager",)  # names of other projects, which may contain such words

# The words are split so that the check does not report this file.
LEFTOVERS = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")
MACHINE_PATHS = re.compile(r"(?<![\w.$}])/(wo" r"rk|ro" r"ot|fa" r"rm)/")
# A thread's processor time is allowed: it is a measurement, and no logic depends on it.
CLOCKS = re.compile(
    r"system_clock::now|clock_gettime(?!\(CLOCK_THREAD_CPUTIME_ID)|gettimeofday|\btime\((nullptr|NULL|0)\)")
CLOCK_OWNER = "lib/base/clock.cc"

MARKDOWN_LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(#[^)\s]*)?\)")
DOCUMENT = re.compile(r"\bdocs/[\w/.-]+\.md\b")

PROSE_WIDTH = 120

# A class that a header defines at the left margin.
CLASS = re.compile(r"^(?:class|struct|enum class) (\w+)(?: final)?(?: : [^;{]*)? \{", re.MULTILINE)
# The folders of each program, and the folders inside them that the program does not link (CMakeLists.txt, gp_forbid).
PROGRAMS = ((("lib/", "coordinator/"), ()),
            (("lib/", "worker/agent/"), ()),
            (("lib/", "worker/"), ("worker/agent/", "lib/http/", "lib/rpc/", "lib/security/", "lib/daemon/")),
            (("lib/", "client/api/", "client/gpctl/"), ()),
            (("lib/", "client/api/", "client/gateway/"), ()))
UNITS_MAX = 30
UNITS_WITHOUT_TEST = "scripts/units_without_test"  # one unit per line; may only shrink
UNITS_WITHOUT_TEST_MAX = 254  # the units listed there now; lower it when the list shrinks, never raise it

# Pages that programs write, with long lines.
WRITTEN_BY_PROGRAMS = ("docs/run-file.md", "docs/sanitizer-runs.md", "docs/benchmarks/")

# The name of a kernel and its first statement.
KERNEL = re.compile(r"__global__[^;{]*?\b(?!__launch_bounds__)(\w+)\([^;{]*\{\s*([^;]*;)")

# The fixtures of the checks' own tests break the rules on purpose.
EXEMPT = ("tests/scripts/",)

CPP = (".cc", ".h", ".cu", ".cuh")
TEXT = CPP + (".md", ".py", ".txt", ".cmake", ".yaml", ".yml", ".proto", ".sh", "")


def tracked_files(root):
    listing = subprocess.run(["git", "-C", str(root), "ls-files"], check=True,
                             capture_output=True, text=True)
    return [line for line in listing.stdout.splitlines() if (root / line).is_file()]


def check_name(path):
    words = {word for part in pathlib.PurePath(path).parts if part not in OTHERS_NAMES
             for word in re.split(r"[_.\-]", part.lower())}
    for word in sorted(words & EMPTY_WORDS):
        yield f"{path}:1: '{word}' in the name; name the file after the noun inside it"


def check_line(path, number, line):
    if LEFTOVERS.search(line):
        yield f"{path}:{number}: unfinished work; do it or open an issue: {line.strip()}"
    if MACHINE_PATHS.search(line):
        yield f"{path}:{number}: an absolute path of one machine: {line.strip()}"
    if path.endswith(CPP) and not path.startswith("tests/") and path != CLOCK_OWNER:
        if CLOCKS.search(line):
            yield f"{path}:{number}: reads a clock; only {CLOCK_OWNER} does, take a Clock& or a time"


def check_header(path, text):
    if not path.endswith((".h", ".cuh")):
        return
    if not text.startswith("//"):
        yield f"{path}:1: a header opens with a paragraph: what it is, who owns it, which threads"
    if "#pragma once" not in text:
        yield f"{path}:1: #pragma once is missing"


def check_documents(root, path, number, line):
    """Links and mentions of docs/….md point to files that exist. Links are relative to the document, mentions to the root."""
    targets = {match: root / match for match in DOCUMENT.findall(line)}
    if path.endswith(".md"):
        for target, _ in MARKDOWN_LINK.findall(line):
            if "://" not in target and not target.startswith("mailto:"):
                targets.pop(target, None)
                targets[target] = (root / path).parent / target
    for target, file in targets.items():
        if not file.exists():
            yield f"{path}:{number}: points to {target}, which does not exist"


def check_indexes(root, files):
    """Every page of docs/formats and docs/adr is in the index beside it."""
    for folder in ("docs/formats", "docs/adr"):
        index = root / folder / "README.md"
        text = index.read_text(encoding="utf-8") if index.exists() else ""
        for path in files:
            pure = pathlib.PurePosixPath(path)
            if str(pure.parent) == folder and pure.name != "README.md" and f"({pure.name})" not in text:
                yield f"{path}:1: {folder}/README.md does not list this page"


def check_class_names(root, files):
    """No program has two classes of the same name, even in different namespaces, because a reader would confuse them."""
    headers = {}
    for path in files:
        if path.endswith((".h", ".cuh")) and not path.startswith(("tests/",) + EXEMPT):
            for name in CLASS.findall((root / path).read_text(encoding="utf-8")):
                headers.setdefault(name, set()).add(path)
    for name, paths in sorted(headers.items()):
        for folders, others in PROGRAMS if len(paths) > 1 else ():
            inside = sorted(path for path in paths if path.startswith(folders) and not path.startswith(others))
            if len(inside) > 1:
                yield f"{inside[1]}:1: class {name} has the name of one in {inside[0]}, in the same program"
                break


def check_folder_sizes(files):
    """A folder has at most UNITS_MAX units, x.h and x.cc being one; a larger one is split by topic."""
    units = {}
    for path in map(pathlib.PurePosixPath, files):
        if path.suffix in CPP and path.parts[0] != "tests":
            units.setdefault(str(path.parent), set()).add(path.stem)
    for folder, stems in sorted(units.items()):
        if len(stems) > UNITS_MAX:
            yield f"{folder}/:1: {len(stems)} units, at most {UNITS_MAX}; split the folder by topic"


def check_mirrored_tests(root, files):
    """The unit lib/a/b.cc has its test in tests/lib/a/b_test.cc, except the units that the list names."""
    if UNITS_WITHOUT_TEST not in files:
        return
    exceptions = set((root / UNITS_WITHOUT_TEST).read_text(encoding="utf-8").split())
    units = {path.removesuffix(".cc") for path in files
             if path.endswith(".cc") and path.startswith(("lib/", "coordinator/", "worker/", "client/"))
             and not path.endswith("/main.cc")}
    for unit in sorted(units):
        test = f"tests/{unit}_test.cc"
        if test in files and unit in exceptions:
            yield f"{UNITS_WITHOUT_TEST}:1: {unit} has its test now; take it off the list"
        elif test not in files and unit not in exceptions:
            yield f"{unit}.cc:1: {test} is missing; the list of exceptions only shrinks"
    if len(exceptions) > UNITS_WITHOUT_TEST_MAX:
        yield (f"{UNITS_WITHOUT_TEST}:1: {len(exceptions)} units, at most {UNITS_WITHOUT_TEST_MAX}; "
               "write the missing test instead of adding a unit")
    for unit in sorted(exceptions - units):
        yield f"{UNITS_WITHOUT_TEST}:1: there is no {unit}.cc; take it off the list"


def check_device_sources(root, files):
    """Each .cu is listed in a CMake file of its folder or of a folder above; otherwise nothing would compile it."""
    lists = {pathlib.PurePosixPath(path): (root / path).read_text(encoding="utf-8")
             for path in files if path.endswith((".cmake", "CMakeLists.txt"))}
    for path in map(pathlib.PurePosixPath, files):
        if path.suffix != ".cu":
            continue
        above = [other for other in lists if other.parent in path.parents]
        listed = (re.search(rf"(?<![\w./-]){re.escape(str(path.relative_to(other.parent)))}(?![\w.])", lists[other])
                  for other in above)
        if not any(listed):
            yield f"{path}:1: no CMake file of {path.parent}/ or above it lists it; nothing would compile it"


def check_build_folders(root, files):
    """The folder of each CMakeLists.txt is entered by one above it; otherwise nothing would build and test it."""
    lists = [pathlib.PurePosixPath(path) for path in files if pathlib.PurePosixPath(path).name == "CMakeLists.txt"]
    for path in lists:
        above = [other for other in lists if other.parent in path.parent.parents]
        entered = (re.search(rf"[(/\s]{re.escape(str(path.parent.relative_to(other.parent)))}[)\"\s]",
                             (root / other).read_text(encoding="utf-8")) for other in above)
        if above and not any(entered):
            yield f"{path}:1: no CMakeLists.txt above enters {path.parent}/; nothing would build it"


def check_prose(path, text):
    """Lines of Markdown wrap, except tables, headings, code, comments, and single words that are too long."""
    if not path.endswith(".md") or path.startswith(WRITTEN_BY_PROGRAMS):
        return
    in_code = False
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith("```"):
            in_code = not in_code
        wraps = not in_code and " " in line.strip() and not line.startswith("    ")
        if wraps and len(line) > PROSE_WIDTH and not line.lstrip().startswith(("|", "#", "<!--", "`")):
            yield f"{path}:{number}: {len(line)} characters; prose wraps at {PROSE_WIDTH}"


def check_kernels(path, text):
    """A kernel may start while the previous one still writes its input, so each first calls AwaitPrevious()."""
    if not path.endswith(".cu"):
        return
    for kernel in KERNEL.finditer(text):
        if kernel[2] != "AwaitPrevious();":
            number = text.count("\n", 0, kernel.start()) + 1
            yield f"{path}:{number}: {kernel[1]} does not begin with AwaitPrevious()"


def check_file(root, path):
    yield from check_name(path)
    if path.startswith(EXEMPT):
        return
    if not path.endswith(TEXT) and pathlib.PurePath(path).suffix:
        return
    try:
        text = (root / path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return
    yield from check_header(path, text)
    yield from check_kernels(path, text)
    yield from check_prose(path, text)
    for number, line in enumerate(text.splitlines(), start=1):
        yield from check_line(path, number, line)
        yield from check_documents(root, path, number, line)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parent.parent)
    root = parser.parse_args().root
    files = tracked_files(root)
    problems = [problem for path in files for problem in check_file(root, path)]
    problems += check_indexes(root, files)
    problems += check_class_names(root, files)
    problems += check_folder_sizes(files)
    problems += check_mirrored_tests(root, files)
    problems += check_device_sources(root, files)
    problems += check_build_folders(root, files)
    print("\n".join(problems) if problems else f"{len(files)} files, nothing to complain about")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
