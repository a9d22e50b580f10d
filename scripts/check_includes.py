#!/usr/bin/env python3
"""Checks every #include against one table of layers (docs/ARCHITECTURE.md, Layers).

    scripts/check_includes.py [--root DIR] [FILE...]      default: every C++ file that git tracks under DIR

Prints `file:line: ...` for each include that crosses a layer, with what that folder may include. Exit status 1 then.
"""

import argparse
import pathlib
import re
import subprocess
import sys

# Third-party headers by library. What matches none of these is the standard library or the kernel's.
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
    "gtest": r"g(test|mock)/",
}

# What belongs to the machine rather than to the language: none of it in the pure core of the coordinator.
MACHINE = r"(sys/|netinet/|arpa/|unistd\.h|fcntl\.h|thread|mutex|shared_mutex|condition_variable|atomic|future|fstream|iostream|filesystem|random)"

# Headers that the engine core may use because they need nothing else.
STANDARD_ONLY = ("runspec/model_shape.h", "runspec/model_part.h", "runspec/arena_plan.h", "runspec/decoder_plan.h",
                 "runspec/gpu_workspace.h", "runspec/packed_weight.h", "runspec/align_up.h",
                 "runspec/run_spec.h", "runspec/training_plan.h", "base/mutex.h", "base/passed_file.h")

SHARED = ["base/", "runspec/", "formats/", "tokenizer/", "corpus/", "interop/", "tasks/"]
CORE = ["worker/engine/backend/", "worker/engine/model/", "worker/engine/optim/",
        "worker/engine/collectives/", *STANDARD_ONLY]

# folder: (project prefixes it may include, libraries it may include). The longest matching folder decides.
LAYERS = {
    "base/": (["base/"], ["absl", "fmt", "spdlog", "yaml", "cli"]),
    "runspec/": (SHARED, ["absl", "fmt", "yaml", "json"]),
    "formats/": (SHARED, ["absl", "fmt", "json", "openssl", "compression", "hashing"]),
    "tokenizer/": (SHARED, ["absl", "fmt", "json", "openssl"]),
    "corpus/": (SHARED, ["absl", "fmt", "json", "simdjson"]),
    "interop/": (SHARED, ["absl", "fmt", "json"]),
    "tasks/": (SHARED, ["absl", "fmt", "json"]),
    "confinement/": (["base/", "confinement/"], ["absl", "fmt", "seccomp"]),
    "link/": (["base/", "link/"], ["absl", "fmt", "json"]),
    "security/": (["base/", "security/"], ["absl", "fmt", "openssl"]),
    "rpc/": (["base/", "security/", "rpc/"], ["absl", "fmt", "grpc", "protobuf"]),
    # HTTP knows nothing of models, so that it can be tested and judged alone.
    "http/": (["base/", "formats/sha256.h", "http/"], ["absl", "fmt", "boost", "openssl", "compression"]),
    "daemon/": (["base/", "rpc/listen_address.h", "http/", "runspec/", "security/", "daemon/"],
                ["absl", "fmt", "prometheus", "json"]),
    "coordinator/state/": (["base/status.h", "base/check.h", "base/typed_id.h",
                            "coordinator/state/"], ["fmt"]),
    "coordinator/scheduler/": (["base/counted_noun.h", "base/status.h", "base/check.h", "base/typed_id.h",
                                "coordinator/state/", "coordinator/scheduler/"], ["fmt"]),
    "coordinator/store/": (["base/", "daemon/state_lock.h", "coordinator/state/",
                            "coordinator/store/"],
                           ["absl", "fmt", "protobuf", "sqlite"]),
    "coordinator/access/": (["base/", "security/", "rpc/", "formats/",
                             "coordinator/store/database_file.h", "coordinator/store/sqlite.h",
                             "coordinator/access/"],
                            ["absl", "fmt", "grpc", "protobuf", "sqlite", "openssl", "json"]),
    "coordinator/": (["base/", "security/", "rpc/", "daemon/", "runspec/", "formats/",
                      "coordinator/"],
                     ["absl", "fmt", "grpc", "protobuf", "prometheus", "yaml", "json", "openssl"]),
    "worker/agent/": (["base/", "security/", "rpc/", "daemon/", "link/", "runspec/", "formats/",
                       "worker/agent/"],
                      ["absl", "fmt", "grpc", "protobuf", "prometheus", "yaml", "json"]),
    "worker/engine/backend/": (CORE, ["torch", "cuda"]),
    "worker/engine/model/": (CORE, ["torch", "cuda"]),
    "worker/engine/optim/": (CORE, ["torch", "cuda"]),
    "worker/engine/collectives/": (CORE, ["torch", "cuda", "openssl"]),
    "worker/engine/": (SHARED + ["confinement/", "link/", "worker/engine/"],
                       ["torch", "cuda", "absl", "fmt", "json", "openssl"]),
    "worker/engine/bench/": (SHARED + ["link/", "daemon/child_process.h", "worker/engine/"],
                             ["torch", "cuda", "absl", "fmt", "json", "openssl", "boost"]),
    "client/": (SHARED + ["confinement/", "security/", "rpc/", "daemon/", "link/", "client/"],
                ["absl", "fmt", "grpc", "protobuf", "cli", "yaml", "json"]),
    "client/gateway/": (SHARED + ["security/", "rpc/", "http/", "daemon/", "link/", "client/api/", "client/gateway/"],
                        ["absl", "fmt", "grpc", "protobuf", "prometheus", "yaml", "json", "boost",
                         "openssl"]),
}
PURE = ("coordinator/state/", "coordinator/scheduler/")
# Tests may look anywhere below what they test; only the engine's core tests keep its promise to need nothing else.
EXEMPT = ("tests/",)

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')
SOURCES = ("*.cc", "*.h", "*.cu", "*.cuh")


def layer_of(path):
    matches = [folder for folder in LAYERS if path.startswith(folder)]
    return max(matches, key=len) if matches else None


def library_of(include):
    for library, pattern in LIBRARIES.items():
        if re.match(pattern, include):
            return library
    return None


def crossing(path, include, project_folders):
    """Why `path` must not include `include`; None when it may."""
    layer = layer_of(path)
    if path in STANDARD_ONLY:
        project = include.split("/")[0] in project_folders and include not in STANDARD_ONLY
        if project or library_of(include):
            return "this header promises to need only the standard library"
        return None
    if layer is None:
        return "this folder has no row in the table of scripts/check_includes.py"
    prefixes, libraries = LAYERS[layer]
    library = library_of(include)
    if library is not None:
        return None if library in libraries else f"{layer} may use only {', '.join(libraries)}"
    if include.split("/")[0] in project_folders and "/" in include:
        if any(include.startswith(prefix) for prefix in prefixes):
            return None
        return f"{layer} may include only {', '.join(prefixes)}"
    if layer in PURE and re.fullmatch(MACHINE + ".*", include):
        return f"{layer} is pure: no threads, files or randomness"
    return None


def tracked_sources(root):
    listing = subprocess.run(["git", "-C", str(root), "ls-files", *SOURCES], check=True,
                             capture_output=True, text=True)
    return [line for line in listing.stdout.splitlines() if (root / line).exists()]


def check_file(root, path, project_folders):
    problems = []
    text = (root / path).read_text(encoding="utf-8")
    for number, line in enumerate(text.splitlines(), start=1):
        found = INCLUDE.match(line)
        reason = crossing(path, found.group(1), project_folders) if found else None
        if reason:
            problems.append(f"{path}:{number}: must not include {found.group(1)}: {reason}")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parent.parent)
    parser.add_argument("files", nargs="*", help="paths relative to the root")
    arguments = parser.parse_args()
    project_folders = {folder.split("/")[0] for folder in LAYERS} | {"tests"}
    files = arguments.files or tracked_sources(arguments.root)
    checked = [path for path in files if not path.startswith(EXEMPT)]
    problems = []
    for path in checked:
        problems += check_file(arguments.root, path, project_folders)
    print("\n".join(problems) if problems else f"{len(checked)} files, no include crosses a layer")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
