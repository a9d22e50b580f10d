"""The peer of `gp-peer-bench step --peer llmc --llmc DIR` on a GPU: llm.c's own train_gpt2cu, trained for as many steps as are
asked for on random tokens.

    llmc_gpu_step.py --build DIR [--precision bf16] [--into FOLDER] [--capability 90]     builds it once, for later rows

It is built by llm.c's Makefile from a scratch copy of the source in DIR, into FOLDER (default: gp/llm.c in the user's cache),
and not again while it is there. A program that was built elsewhere is taken from DIR: train_gpt2cu-bf16, or
train_gpt2cu-bf16-cudnn when it has cuDNN's attention. With cudnn-frontend's headers in $CUDNN_FRONTEND (a folder that holds
cudnn_frontend.h) it is built with cuDNN's attention, else with its own.

Its flags are those of its 124M script for one GPU: no recomputation, GELU fused into the products. Its gradients and residual
stream are bf16, where gp's and torch's are fp32.
"""
import argparse
import importlib.util
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

import protocol

DEPTHS = {768: 12, 1024: 24, 1280: 36, 1600: 48}  # channels: the depth N of `-e dN` that gives so many
WARM_UP = 3  # steps at each start that are not counted
MAGIC, VERSION, HEADER_INTS = 20240520, 1, 256  # the header of llm.c's token file
SWAPS = "Fell back to cudaMallocManaged"  # its warning when it keeps the optimizer's state in host memory
NEVER = "1000000"  # steps between evaluations: it divides by them, so not 0. The first and the last step are evaluated anyway
PROGRAM = "train_gpt2cu"
HEADER_FOLDERS = ("/usr/local/cuda/include", "/usr/include", "/usr/include/x86_64-linux-gnu")
LIBRARY_FOLDERS = ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/local/nvidia/lib64", "/usr/local/cuda/lib64",
                   "/usr/local/cuda/lib64/stubs")
MILLISECONDS = re.compile(r"^step\s+\d+/\d+ .*?\|\s*([\d.]+) ms\s*\|", re.MULTILINE)


def adapt_to_cuda_13(source):
    """Changes a call of llm.c that passes a device number to cudaMemAdvise: CUDA 13 takes a location instead."""
    path = source / "llmc/cuda_utils.cuh"
    text = path.read_text(encoding="utf-8")
    place = "cudaMemLocation{cudaMemLocationTypeHost, 0}"
    path.write_text(re.sub(r"(cudaMemAdvise\([^;]*?), cudaCpuDeviceId\)", rf"\1, {place})", text), encoding="utf-8")


def cuda_release():
    text = subprocess.run(["nvcc", "--version"], capture_output=True, text=True, check=True).stdout
    return int(re.search(r"release (\d+)", text).group(1))


def cache():
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "gp/llm.c"


def built(folder, precision):
    """The program in `folder` and what computes its attention, or None."""
    for suffix, attention in (("-cudnn", "cuDNN attention"), ("", "its own attention")):
        program = pathlib.Path(folder) / f"{PROGRAM}-{precision}{suffix}"
        if os.access(program, os.X_OK) and program.is_file():
            return program, attention
    return None


def wheel_folders(name):
    """The folders called `name` ("include", "lib") in the CUDA wheels beside torch."""
    spec = importlib.util.find_spec("torch")
    return sorted(pathlib.Path(spec.origin).parents[1].glob(f"nvidia/*/{name}")) if spec and spec.origin else []


def library(name, environment):
    """The path of a shared library for the linker: from the loader's folders, the CUDA toolkit or a wheel; or None."""
    places = [*environment.get("LD_LIBRARY_PATH", "").split(":"), *LIBRARY_FOLDERS, *wheel_folders("lib")]
    found = (path for place in places if place for path in sorted(pathlib.Path(place).glob(f"lib{name}.so*")))
    return next(found, None)


def header(name):
    return next((folder for folder in [*map(pathlib.Path, HEADER_FOLDERS), *wheel_folders("include")] if (folder / name).exists()),
                None)


def lacking(source, precision, environment=os.environ):
    """The reasons why llm.c cannot be built here; empty if it can or if it is built already."""
    if built(source, precision) or built(cache(), precision):
        return []
    tools = [name for name in ("nvcc", "make") if shutil.which(name) is None]
    words = [f"{name} is not on the PATH" for name in tools]
    if not (pathlib.Path(source) / "train_gpt2.cu").exists():
        words.append(f"{source} has no train_gpt2.cu and no {PROGRAM}-{precision}")
    if library("nvidia-ml", environment) is None:
        words.append("libnvidia-ml.so is in no library folder; the NVIDIA driver brings it")
    if os.environ.get("CUDNN_FRONTEND"):
        if not (pathlib.Path(os.environ["CUDNN_FRONTEND"]) / "cudnn_frontend.h").exists():
            words.append("$CUDNN_FRONTEND holds no cudnn_frontend.h")
        if header("cudnn.h") is None:
            words.append("cudnn.h is in no include folder; the wheel nvidia-cudnn-cu13 brings it")
        if library("cudnn", environment) is None:
            words.append("libcudnn.so is in no library folder")
    return words


def link_names(folder, names):
    """Makes a folder with links lib<name>.so, which the linker needs; a driver or a wheel brings only lib<name>.so.1."""
    folder.mkdir()
    for name in names:
        (folder / f"lib{name}.so").symlink_to(library(name, os.environ).resolve())
    return folder


def build(source, precision, target, capability=""):
    """Builds the program from a scratch copy of `source` into the folder `target`; returns its path and its kind of
    attention."""
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        copy, home = scratch / "llm.c", scratch / "home"
        shutil.copytree(source, copy, ignore=shutil.ignore_patterns(".git", "*.bin", "*.o"))
        if cuda_release() >= 13:
            adapt_to_cuda_13(copy)
        command = ["make", "-C", str(copy), PROGRAM, f"PRECISION={precision.upper()}", "NO_MULTI_GPU=1", "NO_USE_MPI=1"]
        if capability:
            command.append(f"GPU_COMPUTE_CAPABILITY={capability}")
        frontend = os.environ.get("CUDNN_FRONTEND")
        environment = dict(os.environ, HOME=str(home))
        libraries = ["nvidia-ml"]
        if frontend:  # llm.c's Makefile looks for it below $HOME
            (home / "cudnn-frontend").mkdir(parents=True)
            (home / "cudnn-frontend/include").symlink_to(pathlib.Path(frontend).resolve())
            command += ["USE_CUDNN=1", "NVCC_LDLIBS=-lcuda -lnvrtc"]  # libraries that newer headers of the frontend need
            environment["CPATH"] = ":".join(filter(None, (os.environ.get("CPATH"), str(header("cudnn.h")))))
            libraries.append("cudnn")
        links = link_names(scratch / "links", libraries)
        environment["LIBRARY_PATH"] = ":".join(filter(None, (str(links), os.environ.get("LIBRARY_PATH"))))
        result = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        if result.returncode != 0:
            sys.exit("llmc_gpu_step: its Makefile failed: " + (result.stderr or result.stdout).strip()[-400:])
        target.mkdir(parents=True, exist_ok=True)
        program = target / f"{PROGRAM}-{precision}{'-cudnn' if frontend else ''}"
        shutil.move(copy / PROGRAM, program)
    return built(target, precision)


def program_for(source, precision, target, capability=""):
    found = built(source, precision) or built(target, precision)
    return found or build(source, precision, target, capability)


def write_tokens(path, count, vocabulary):
    state, ids = 1, []
    for _ in range(count):
        state = (state * 1664525 + 1013904223) % (1 << 32)
        ids.append((state >> 8) % vocabulary)
    header = struct.pack(f"<{HEADER_INTS}i", MAGIC, VERSION, count, *[0] * (HEADER_INTS - 3))
    path.write_bytes(header + struct.pack(f"<{count}H", *ids))


def milliseconds_of(output):
    return [float(text) for text in MILLISECONDS.findall(output)]


def run_steps(binary, folder, arguments, count):
    tokens = arguments.batch * arguments.sequence
    command = [str(binary), "-i", str(folder / "train.bin"), "-j", str(folder / "val.bin"), "-e",
               f"d{DEPTHS[arguments.channels]}", "-b", str(arguments.batch), "-t", str(arguments.sequence), "-d", str(tokens),
               "-r", "0", "-ge", "1", "-z", "0", "-v", NEVER, "-m", "1", "-s", "0", "-n", "0", "-x", str(count + WARM_UP), "-l", "0.0001"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    durations = milliseconds_of(result.stdout)
    if SWAPS in result.stdout:
        sys.exit("llmc_gpu_step: out of memory: train_gpt2cu keeps its optimizer's state in the host's memory")
    if result.returncode != 0 or len(durations) != count + WARM_UP:
        sys.exit("llmc_gpu_step: train_gpt2cu failed: " + (result.stdout + result.stderr).strip()[-400:])
    return durations[WARM_UP:]


def serve(arguments, scratch):
    if arguments.channels not in DEPTHS or not arguments.bias or arguments.gelu != "tanh":
        sys.exit("llmc_gpu_step: llm.c makes GPT-2's four sizes only, with biases and the tanh GELU")
    if arguments.precision not in ("fp32", "bf16", "fp16"):
        sys.exit(f"llmc_gpu_step: llm.c has no precision {arguments.precision}")
    words = lacking(arguments.llmc, arguments.precision)
    if words:
        sys.exit("llmc_gpu_step: " + "; ".join(words))
    binary, attention = program_for(arguments.llmc, arguments.precision, cache())
    for name in ("train.bin", "val.bin"):
        write_tokens(scratch / name, 4 * arguments.batch * arguments.sequence + 1, 50257)
    protocol.serve(f"llm.c train_gpt2cu {arguments.precision}, {attention}, residual and gradients in the same",
                   many=lambda count: run_steps(binary, scratch, arguments, count))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True, metavar="DIR", help="llm.c's source")
    parser.add_argument("--precision", choices=("fp32", "bf16", "fp16"), default="bf16")
    parser.add_argument("--into", type=pathlib.Path, default=cache(), metavar="FOLDER")
    parser.add_argument("--capability", default="", help="of the GPU it is for, such as 90 (default: this machine's)")
    arguments = parser.parse_args()
    words = lacking(arguments.build, arguments.precision)
    if words:
        sys.exit("llmc_gpu_step: " + "; ".join(words))
    found = program_for(arguments.build, arguments.precision, arguments.into, arguments.capability)
    print(f"{found[0]}, {found[1]}")


if __name__ == "__main__":
    main()
