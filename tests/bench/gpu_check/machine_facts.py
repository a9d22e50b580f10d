"""Facts about a GPU machine, collected before anything is measured on it."""
import importlib.metadata
import os
import platform
import re
import subprocess

import libraries

NEEDED_CAPABILITY = re.compile(r"compute capability (\d+\.\d+)")
FIELDS = ("name", "driver_version", "memory.total", "compute_cap", "power.limit", "clocks.max.sm")


def gpu():
    """The first GPU by nvidia-smi, or None where there is none."""
    try:
        done = subprocess.run(["nvidia-smi", f"--query-gpu={','.join(FIELDS)}", "--format=csv,noheader"], capture_output=True,
                              text=True, timeout=60, check=False)
    except FileNotFoundError:
        return None
    lines = done.stdout.strip().splitlines()
    if done.returncode != 0 or not lines:
        return None
    return dict(zip(FIELDS, (value.strip() for value in lines[0].split(","))))


def version_of(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def glibc():
    return platform.libc_ver()[1]


def older(version, needed):
    return tuple(map(int, version.split("."))) < tuple(map(int, needed.split(".")))


def is_lacking(reason):
    """Whether the reason names a compute capability that this GPU does not have."""
    needed = NEEDED_CAPABILITY.search(reason)
    found = gpu() if needed else None
    return found is not None and older(found["compute_cap"], needed[1])


def facts(manifest):
    """The facts for the report. Raises RuntimeError if the programs cannot start here; the message says why and what to do."""
    libraries_found = libraries.found()
    missing = [name for name, path in libraries_found.items() if path is None]
    if missing:
        raise RuntimeError(f"not found: {', '.join(missing)}; use a Python with torch 2.11+cu130, whose wheels bring them: PYTHON scripts/gpu_check")
    if manifest and older(glibc(), manifest["glibc"]):
        raise RuntimeError(f"glibc {glibc()} is older than {manifest['glibc']}, with which the package was built: build here instead "
                           "(cmake --preset cuda; needs the packages that scripts/bootstrap names)")
    device = gpu()
    if device is None:
        raise RuntimeError("nvidia-smi finds no GPU")
    return {"gpu": device, "glibc": glibc(), "cores": len(os.sched_getaffinity(0)), "python": platform.python_version(),
            "torch": version_of("torch"), "libraries": libraries_found, "commit": manifest["commit"] if manifest else "built here"}


def slug(name):
    """The GPU's name in file names: 'nvidia-h100-80gb-hbm3'."""
    return "-".join(re.findall(r"[a-z0-9]+", name.lower()))
