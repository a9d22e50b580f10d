"""Checks with ldd that control-plane programs load no LibTorch and that engine programs load no gRPC or protobuf. Libraries of
the same names on LD_LIBRARY_PATH, as in a conda environment, are not loaded.

linked_libraries_test.py PROGRAM...      names of programs in $GP_BIN
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

TORCH = re.compile(r"libtorch|libc10|libcudart|libcupti")
RPC = re.compile(r"libgrpc|libprotobuf|libgpr")
FORBIDDEN = {"gp-coordinator": TORCH, "gp-worker": TORCH, "gpctl": TORCH, "gp-gateway": TORCH,
             "gp-trainer": RPC, "gp-sampler": RPC, "gp-evaluator": RPC, "gp-trainer-cuda": RPC,
             "gp-sampler-cuda": RPC}


def loaded_libraries(program):
    done = subprocess.run(["ldd", str(program)], check=True, capture_output=True, text=True)
    return [line.strip() for line in done.stdout.splitlines()]


# Programs for GPUs use LD_LIBRARY_PATH, because the driver may be there; only the listed libraries are pinned.
def pinned_libraries(name, libraries):
    if name.endswith("-cuda"):
        return ["libtorch.so", "libtorch_cpu.so", "libc10.so", "libgomp.so.1"]
    return ["libtorch.so"] + [line.split()[0] for line in libraries if " => " in line]


# Case runs-and-service/16: libraries on LD_LIBRARY_PATH replaced those that the program was built with.
def problem_beside_other_libraries(name, libraries):
    """The error if the program does not start with empty files of the libraries' names on LD_LIBRARY_PATH; an empty list
    otherwise."""
    with tempfile.TemporaryDirectory() as folder:
        for library in pinned_libraries(name, libraries):
            pathlib.Path(folder, library).touch()
        done = subprocess.run([pathlib.Path(os.environ["GP_BIN"], name), "version" if name == "gpctl" else "--version"],
                              env={**os.environ, "LD_LIBRARY_PATH": folder, "XDG_CONFIG_HOME": folder}, capture_output=True, text=True, check=False)
    return [] if done.returncode == 0 else [f"{name} with other libraries on LD_LIBRARY_PATH: {done.stderr.strip()}"]


def problems_of(name):
    libraries = loaded_libraries(pathlib.Path(os.environ["GP_BIN"], name))
    missing = [f"{name}: {line}" for line in libraries if "not found" in line]
    crossing = [f"{name} must not load {line}" for line in libraries if FORBIDDEN[name].search(line)]
    return missing + crossing + problem_beside_other_libraries(name, libraries)


def main():
    programs = sys.argv[1:]
    problems = [problem for name in programs for problem in problems_of(name)]
    print("\n".join(problems) if problems else f"{len(programs)} programs load only their side")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
