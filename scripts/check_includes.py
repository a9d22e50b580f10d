#!/usr/bin/env python3
"""Checks every #include against one table of layers (docs/ARCHITECTURE.md, Layers), and that no folders include each other.

    scripts/check_includes.py [--root DIR] [FILE...]      default: every C++ file that git tracks under DIR

Prints `file:line: ...` for each include that crosses a layer, with what that folder may include, and the folders of one
circle, if there are any, with an include for each step of it. Exit status 1 then.
"""

import argparse
import functools
import pathlib
import re
import subprocess
import sys

# Third-party headers by library. All others belong to the standard library or the kernel.
LIBRARIES = {
    "torch": r"(torch|ATen|c10|caffe2)/",
    "cuda": r"(cuda|cublas|cudnn|nccl|nvml)",
    "grpc": r"grpc(pp)?/",
    "protobuf": r"google/protobuf/|gp/.*\.pb\.h$",
    "absl": r"absl/",
    "fmt": r"fmt/",
    "spdlog": r"spdlog/",
    "yaml": r"yaml-cpp/",
    "json": r"nlohmann/",
    "sqlite": r"sqlite3\.h$",
    "prometheus": r"prometheus/",
    "cli": r"CLI/",
    "openssl": r"openssl/",
    "compression": r"(zlib|zstd)\.h$",
    "simdjson": r"simdjson\.h$",
    "hashing": r"xxhash\.h$",
    "boost": r"boost/",
    "seccomp": r"seccomp\.h$",
    "xml": r"pugixml\.hpp$",
    "gtest": r"g(test|mock)/",
}

# Headers that depend on the machine rather than the language: none in the pure core of the coordinator.
MACHINE = r"(sys/|netinet/|arpa/|unistd\.h|fcntl\.h|thread|mutex|shared_mutex|condition_variable|atomic|future|fstream|iostream|filesystem|random)"

# The folders of lib/. Each may include only folders before it, and of these only the ones in its row below.
LIB = ("base", "contract", "storage", "plan", "runspec", "formats", "tokenizer", "corpus", "interop", "tasks", "security", "rpc",
       "http", "confinement", "daemon")

SHARED = ["base/", "contract/", "storage/", "plan/", "runspec/", "formats/", "tokenizer/", "corpus/", "interop/", "tasks/"]
CORE = ["worker/engine/backend/", "worker/engine/model/", "worker/engine/optim/", "worker/engine/collectives/"]
ENGINE = SHARED + ["confinement/", "worker/engine/", "worker/checkpoint/", "worker/data/"]
ENGINE_LIBRARIES = ["torch", "cuda", "absl", "fmt", "json", "openssl"]

# folder: (project prefixes it may include, libraries it may include). The longest matching folder decides.
LAYERS = {
    "base/": (["base/"], ["absl", "fmt", "spdlog", "yaml", "cli"]),
    "contract/": (["base/", "contract/"], ["absl", "fmt", "json"]),
    "storage/": (["base/", "storage/"], ["absl", "fmt"]),
    "storage/object/": (["base/", "storage/"], ["absl", "fmt", "json", "openssl", "xml"]),
    "plan/": (["plan/"], []),
    "runspec/": (["base/", "plan/", "runspec/"], ["absl", "fmt", "yaml", "json"]),
    "formats/": (["base/", "contract/", "storage/", "plan/", "formats/"], ["absl", "fmt", "json", "openssl", "compression", "hashing"]),
    "tokenizer/": (["base/", "plan/", "runspec/", "formats/", "tokenizer/"], ["absl", "fmt", "json", "openssl"]),
    "corpus/": (["base/", "plan/", "runspec/", "formats/", "tokenizer/", "corpus/"], ["absl", "fmt", "json", "simdjson"]),
    "interop/": (["base/", "storage/", "plan/", "runspec/", "formats/", "tokenizer/", "interop/"], ["absl", "fmt", "json"]),
    "tasks/": (["base/", "plan/", "formats/", "tokenizer/", "tasks/"], ["absl", "fmt", "json"]),
    "security/": (["base/", "security/"], ["absl", "fmt", "openssl"]),
    "rpc/": (["base/", "contract/", "security/", "rpc/"], ["absl", "fmt", "grpc", "protobuf"]),
    # HTTP must not depend on models, so that it can be tested and judged alone.
    "http/": (["base/", "formats/sha256.h", "http/"], ["absl", "fmt", "boost", "openssl", "compression"]),
    "confinement/": (["base/", "confinement/"], ["absl", "fmt", "seccomp"]),
    "daemon/": (["base/", "rpc/listen_address.h", "http/", "runspec/", "security/", "daemon/"],
                ["absl", "fmt", "prometheus", "json"]),
    "coordinator/state/": (["base/status.h", "base/check.h", "base/typed_id.h", "contract/exit_cause.h",
                            "contract/field.h", "contract/written_checkpoint.h", "coordinator/state/"], ["fmt"]),
    "coordinator/scheduler/": (["base/text/counted_noun.h", "base/status.h", "base/check.h", "base/typed_id.h",
                                "coordinator/state/", "coordinator/scheduler/"], ["fmt"]),
    "coordinator/store/": (["base/", "contract/", "daemon/state_lock.h", "rpc/message_fields.h", "coordinator/state/", "coordinator/store/"],
                           ["absl", "fmt", "protobuf", "sqlite"]),
    "coordinator/access/": (["base/", "security/", "rpc/", "formats/", "coordinator/state/", "coordinator/store/", "coordinator/access/"],
                            ["absl", "fmt", "grpc", "protobuf", "sqlite", "openssl", "json"]),
    "coordinator/": (["base/", "contract/", "storage/", "security/", "rpc/", "daemon/", "plan/", "runspec/", "formats/", "coordinator/"],
                     ["absl", "fmt", "grpc", "protobuf", "prometheus", "yaml", "json", "openssl"]),
    "worker/agent/": (["base/", "security/", "rpc/", "daemon/", "contract/", "plan/", "runspec/", "formats/",
                       "worker/agent/"],
                      ["absl", "fmt", "grpc", "protobuf", "prometheus", "yaml", "json"]),
    "worker/engine/backend/": (CORE, ["torch", "cuda"]),
    "worker/engine/model/": (CORE, ["torch", "cuda"]),
    "worker/engine/optim/": (CORE, ["torch", "cuda"]),
    "worker/engine/collectives/": (CORE, ["torch", "cuda", "openssl"]),
    "worker/engine/step/": (CORE + ["base/", "contract/", "plan/", "worker/engine/step/"], ["torch", "cuda", "fmt"]),
    "worker/checkpoint/": (["base/", "contract/", "storage/", "plan/", "formats/", "worker/engine/backend/", "worker/checkpoint/"],
                           ["absl", "fmt", "openssl"]),
    "worker/data/": (SHARED + ["worker/data/"], ["absl", "fmt", "json", "openssl"]),
    "worker/evaluator/": (ENGINE + ["worker/evaluator/"], ENGINE_LIBRARIES),
    "worker/sampler/": (ENGINE + ["worker/sampler/"], ENGINE_LIBRARIES),
    "worker/trainer/": (ENGINE + ["worker/evaluator/", "worker/sampler/", "worker/trainer/"], ENGINE_LIBRARIES),
    "worker/bench/": (ENGINE + ["worker/bench/"], ENGINE_LIBRARIES),
    "client/": (SHARED + ["confinement/", "security/", "rpc/", "daemon/", "client/"],
                ["absl", "fmt", "grpc", "protobuf", "cli", "yaml", "json"]),
    "client/gateway/": (SHARED + ["security/", "rpc/", "http/", "daemon/", "client/api/", "client/gateway/"],
                        ["absl", "fmt", "grpc", "protobuf", "prometheus", "yaml", "json", "boost",
                         "openssl"]),
}
PURE = ("coordinator/state/", "coordinator/scheduler/")
# Tests may include everything.
EXEMPT = ("tests/",)

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')
SOURCES = ("*.cc", "*.h", "*.cu", "*.cuh")


def spelled(path):
    """How an #include names the file: lib/ is an include root."""
    return path.removeprefix("lib/")


def is_project(include):
    return "/" in include and include.split("/")[0] in {folder.split("/")[0] for folder in LAYERS} | {"tests"}


def layer_of(path):
    matches = [folder for folder in LAYERS if spelled(path).startswith(folder)]
    return max(matches, key=len) if matches else None


def library_of(include):
    for library, pattern in LIBRARIES.items():
        if re.match(pattern, include):
            return library
    return None


def includes_of(file):
    """(line, include) of each include in the file."""
    lines = file.read_text(encoding="utf-8").splitlines()
    return [(number, found.group(1)) for number, line in enumerate(lines, start=1) if (found := INCLUDE.match(line))]


@functools.cache
def file_of(root, include):
    """The file that the include names; None when it does not exist."""
    return next((file for file in (root / "lib" / include, root / include) if file.is_file()), None)


@functools.cache
def is_standard(root, include):
    """Whether the header, with all that it includes, needs only the standard library and the system's headers."""
    file = file_of(root, include)
    if file is None:
        return False
    return all(is_standard(root, below) if is_project(below) else library_of(below) is None
               for _, below in includes_of(file))


def crossing(root, path, include):
    """Why `path` must not include `include`; None when it may."""
    layer = layer_of(path)
    if layer is None:
        return "this folder has no row in the table of scripts/check_includes.py"
    prefixes, libraries = LAYERS[layer]
    library = library_of(include)
    if library is not None:
        return None if library in libraries else f"{layer} may use only {', '.join(libraries) or 'the standard library'}"
    if is_project(include):
        if any(include.startswith(prefix) for prefix in prefixes):
            return None
        if prefixes is CORE:
            # The engine core may use every header of lib/ that, like the core, needs only the standard library.
            if include.split("/")[0] in LIB and is_standard(root, include):
                return None
            return f"{layer} may include only {', '.join(prefixes)} and headers of lib/ that need only the standard library"
        return f"{layer} may include only {', '.join(prefixes)}"
    if layer in PURE and re.fullmatch(MACHINE + ".*", include):
        return f"{layer} is pure: no threads, files or randomness"
    return None


def tracked_sources(root):
    listing = subprocess.run(["git", "-C", str(root), "ls-files", *SOURCES], check=True,
                             capture_output=True, text=True)
    return [line for line in listing.stdout.splitlines() if (root / line).exists()]


def check_file(root, path):
    problems = []
    for number, include in includes_of(root / path):
        reason = crossing(root, path, include)
        if reason:
            problems.append(f"{path}:{number}: must not include {include}: {reason}")
    return problems


def folder_steps(root, paths):
    """{folder: {folder that it includes: "file:line"}}, for two folders in the same parent or one inside the other.

    `a/b/x.cc` that includes `a/c/d/y.h` is a step from `a/b` to `a/c`; one that includes `a/z.h`, from `a/b` to `a`.
    """
    steps = {}
    for path in paths:
        for number, include in includes_of(root / path):
            target = file_of(root, include) if is_project(include) else None
            if target is None:
                continue
            source_parts = pathlib.PurePath(path).parts[:-1]
            target_parts = target.relative_to(root).parts[:-1]
            common = 0
            while common < min(len(source_parts), len(target_parts)) and source_parts[common] == target_parts[common]:
                common += 1
            source, target = ("/".join(parts[:common + 1]) for parts in (source_parts, target_parts))
            if source != target:
                steps.setdefault(source, {}).setdefault(target, f"{path}:{number}")
    return steps


def circle(steps):
    """The folders of one circle in order, the first one again at the end; empty when there is none."""
    done = set()

    def walk(folder, way):
        if folder in way:
            return way[way.index(folder):] + [folder]
        if folder in done:
            return []
        for target in sorted(steps.get(folder, {})):
            found = walk(target, way + [folder])
            if found:
                return found
        done.add(folder)
        return []

    return next((found for folder in sorted(steps) if (found := walk(folder, []))), [])


def check_circles(root, paths):
    steps = folder_steps(root, paths)
    folders = circle(steps)
    if not folders:
        return []
    return ["folders include each other: " + " -> ".join(folders)] + [
        f"{steps[source][target]}: {source} includes {target}" for source, target in zip(folders, folders[1:])]


def check_order():
    """The rows of lib/ name only folders that come before them."""
    problems = []
    for position, folder in enumerate(LIB):
        for prefix in LAYERS[folder + "/"][0]:
            if prefix.split("/")[0] not in LIB[:position + 1]:
                problems.append(f"scripts/check_includes.py: {folder}/ must not include {prefix}, which comes after it in LIB")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parent.parent)
    parser.add_argument("files", nargs="*", help="paths relative to the root")
    arguments = parser.parse_args()
    files = arguments.files or tracked_sources(arguments.root)
    checked = [path for path in files if not path.startswith(EXEMPT)]
    problems = check_order()
    for path in checked:
        problems += check_file(arguments.root, path)
    problems += check_circles(arguments.root, checked)
    print("\n".join(problems) if problems else f"{len(checked)} files, no include crosses a layer and no folders include each other")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
