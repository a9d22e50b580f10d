"""The machine that a table of benchmarks belongs to: its name for files, its description for people."""
import os
import pathlib
import re


def _first(pattern, path, default):
    match = re.search(pattern, pathlib.Path(path).read_text(encoding="utf-8"), re.M)
    return match.group(1).strip() if match else default


def cores():
    return len(os.sched_getaffinity(0))


def description():
    """'Intel(R) Xeon(R) Processor (family 6, model 207), 2 cores, avx512_bf16, 8 GB'"""
    info = "/proc/cpuinfo"
    flags = _first(r"^flags\s*:\s*(.*)$", info, "").split()
    level = next((name for name in ("amx_bf16", "avx512_bf16", "avx512f", "avx2") if name in flags), "x86-64")
    memory = int(_first(r"^MemTotal:\s*(\d+)", "/proc/meminfo", "0")) / 1e6
    name = _first(r"^model name\s*:\s*(.*)$", info, "unknown processor")
    family = _first(r"^cpu family\s*:\s*(.*)$", info, "?")
    model = _first(r"^model\s*:\s*(.*)$", info, "?")
    return f"{name} (family {family}, model {model}), {cores()} cores, {level}, {memory:.0f} GB"


def slug():
    """'intel-xeon-6-207-2-cores': two machines with equal names are equal enough to compare."""
    info = "/proc/cpuinfo"
    name = _first(r"^model name\s*:\s*(.*)$", info, "cpu").lower()
    name = re.sub(r"\((r|tm)\)|processor|cpu|@.*", " ", name)
    family = _first(r"^cpu family\s*:\s*(.*)$", info, "0")
    model = _first(r"^model\s*:\s*(.*)$", info, "0")
    return "-".join(re.findall(r"[a-z0-9]+", f"{name} {family} {model} {cores()} cores"))
