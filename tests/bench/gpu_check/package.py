"""The package, a folder to copy to a GPU machine: stripped programs, the libraries that such a machine does not have, the peers
and this check itself, laid out as in the source tree, with a manifest.

It contains the libraries that the programs load on the build machine, except glibc, the driver, and those that Python's torch
brings (LibTorch, cudart, cuBLASLt, cuDNN, NCCL, CUPTI: see libraries.py).
"""
import json
import pathlib
import re
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[3]
MANIFEST = "package.json"
LIMIT_BYTES = 64 << 20
PROGRAMS = ("gp-peer-bench-cuda", "gp-trainer-cuda")
SEARCH = b"$ORIGIN/../lib"  # bin/ and lib/ are neighbours
FOLDERS = ("tests/bench/gpu_check", "tests/bench/peers")

# Libraries that the GPU machine has: glibc's, the driver's, or those in torch's wheels.
EXPECTED_THERE = re.compile(
    r"^(linux-vdso|ld-linux|lib(c|m|dl|rt|pthread|util|resolv)\.so|libcuda\.so|libnvidia|libtorch|libc10|libgomp|"
    r"libcudart|libcublas|libcudnn|libnccl|libcupti|libnvrtc|libnvJitLink)")


def gpu_tests(build):
    """The names of the test programs that need a GPU, from a list that the build writes."""
    listing = build / "gpu_tests.txt"
    return listing.read_text(encoding="utf-8").split() if listing.exists() else []


def sources(build):
    """Every program of a package with its path in the build tree."""
    found = {name: build / "bin" / name for name in PROGRAMS}
    found.update({name: build / "tests" / name for name in gpu_tests(build)})
    missing = [str(path) for path in found.values() if not path.exists()]
    if missing:
        raise RuntimeError(f"not built: {', '.join(missing)}; run cmake --preset cuda && "
                           "cmake --build build/cuda --target cuda_programs gpu_tests")
    return found


def loaded_libraries(program):
    """{name: path} of the libraries that a program loads; the path is empty if this machine lacks the library."""
    text = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=True).stdout
    return {found[1]: found[2] for found in re.finditer(r"^\s*(\S+) => (/\S+|)", text, re.MULTILINE)}


def libraries_to_take(programs):
    found = {}
    for program in programs:
        found.update(loaded_libraries(program))
    return {name: pathlib.Path(path) for name, path in found.items() if path and not EXPECTED_THERE.match(name)}


def newest_glibc(files):
    """The oldest glibc with which all of the files start, such as '2.34'."""
    versions = {(2, 0)}
    for file in files:
        text = subprocess.run(["readelf", "--version-info", "--wide", str(file)], capture_output=True, text=True,
                              check=True).stdout
        versions |= {tuple(map(int, match.split("."))) for match in re.findall(r"GLIBC_(\d+\.\d+)", text)}
    return ".".join(map(str, max(versions)))


def commit():
    done = subprocess.run(["git", "-C", str(ROOT), "describe", "--always", "--dirty"], capture_output=True, text=True,
                          check=False)
    return done.stdout.strip() or "unknown"


def copy_program(path, folder):
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / path.name
    shutil.copy2(path.resolve(), target)
    subprocess.run(["strip", "--strip-all", str(target)], check=True)
    search_here(target)
    return target


def search_here(program):
    """Rewrites a program's library path: it finds libraries in the package instead of in folders of this machine. The build
    links with --disable-new-dtags, so that the path also applies to what those libraries load. The package's folder then need
    not be in $LD_LIBRARY_PATH, which the peers inherit."""
    text = subprocess.run(["readelf", "--dynamic", "--wide", str(program)], capture_output=True, text=True, check=True).stdout
    found = re.search(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", text)
    if not found:
        return
    old = found[1].encode() + b"\0"
    data = program.read_bytes()
    if len(old) <= len(SEARCH) or data.count(old) != 1:
        raise RuntimeError(f"{program.name}: its library path cannot be rewritten: {found[1]}")
    program.write_bytes(data.replace(old, SEARCH.ljust(len(old), b"\0")))


RUN = """#!/usr/bin/env bash
# Starts a program of this package by hand, with the libraries of the Python that has torch:
#   run gp-peer-bench-cuda step --model 124M --batch 64      (PYTHON=path: another Python than python3)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
LD_LIBRARY_PATH=$("${PYTHON:-python3}" "$here/tests/bench/gpu_check/libraries.py")
export LD_LIBRARY_PATH
program=$1
shift
exec "$here/bin/$program" "$@"
"""


def write_run(folder):
    path = folder / "run"
    path.write_text(RUN, encoding="utf-8")
    path.chmod(0o755)


def copy_sources(folder):
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / name, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__", "*_test.py"))
    (folder / "scripts").mkdir(exist_ok=True)
    shutil.copy2(ROOT / "scripts/gpu_check", folder / "scripts/gpu_check")


def size_of(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def make(build, folder):
    """Writes the package and returns its manifest. Raises RuntimeError if something is not built or it is too large."""
    programs = sources(build)
    if folder.exists():
        shutil.rmtree(folder)
    copied = [copy_program(path, folder / "bin") for path in programs.values()]
    for name, path in libraries_to_take(programs.values()).items():
        copy_program(path, folder / "lib").rename(folder / "lib" / name)
    copy_sources(folder)
    write_run(folder)
    libraries = sorted((folder / "lib").iterdir()) if (folder / "lib").exists() else []
    manifest = {
        "apiVersion": "gp/v1", "kind": "GpuCheckPackage", "commit": commit(), "tests": gpu_tests(build),
        "glibc": newest_glibc([*copied, *libraries]),
        "bytes": {path.name: path.stat().st_size for path in [*copied, *libraries]}, "total_bytes": size_of(folder)}
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
    if manifest["total_bytes"] > LIMIT_BYTES:
        raise RuntimeError(f"the package has {manifest['total_bytes'] >> 20} MiB, more than {LIMIT_BYTES >> 20}; the largest: "
                           + ", ".join(sorted(manifest["bytes"], key=manifest["bytes"].get)[-3:]))
    return manifest


def read(root):
    """The manifest of the package that `root` is, or None in a source tree."""
    path = root / MANIFEST
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
