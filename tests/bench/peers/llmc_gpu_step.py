"""The peer of `gp-bench step --peer llmc --llmc DIR` on a GPU: llm.c's own train_gpt2cu, built from a scratch copy of the
user's source with its Makefile, and trained for as many steps as are asked for on random tokens.

Its flags are those of its 124M script for one GPU: no recomputation, GELU fused into the products. With cudnn-frontend's
headers in $CUDNN_FRONTEND (a folder that holds cudnn_frontend.h) it is built with cuDNN's attention, else with its own. Its
gradients and residual stream are bf16, where gp's and torch's are fp32.
"""
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys

import protocol

DEPTHS = {768: 12, 1024: 24, 1280: 36, 1600: 48}  # what `-e dN` makes of a depth
WARM_UP = 3  # steps of each start that are not counted
MAGIC, VERSION, HEADER_INTS = 20240520, 1, 256  # of a token file
SWAPS = "Fell back to cudaMallocManaged"  # its warning when its optimizer's state is kept in the host's memory
MILLISECONDS = re.compile(r"^step\s+\d+/\d+ .*?\|\s*([\d.]+) ms\s*\|", re.MULTILINE)


def adapt_to_cuda_13(source):
    """CUDA 13 takes a location where CUDA 12 took a device number; one call of llm.c says it the old way."""
    path = source / "llmc/cuda_utils.cuh"
    text = path.read_text(encoding="utf-8")
    place = "cudaMemLocation{cudaMemLocationTypeHost, 0}"
    path.write_text(re.sub(r"(cudaMemAdvise\([^;]*?), cudaCpuDeviceId\)", rf"\1, {place})", text), encoding="utf-8")


def cuda_release():
    text = subprocess.run(["nvcc", "--version"], capture_output=True, text=True, check=True).stdout
    return int(re.search(r"release (\d+)", text).group(1))


def build(source, precision):
    if cuda_release() >= 13:
        adapt_to_cuda_13(source)
    command = ["make", "-C", str(source), "train_gpt2cu", f"PRECISION={precision}", "NO_MULTI_GPU=1", "NO_USE_MPI=1"]
    home = source / "home"
    frontend = os.environ.get("CUDNN_FRONTEND")
    if frontend:  # its Makefile looks below $HOME
        (home / "cudnn-frontend").mkdir(parents=True)
        (home / "cudnn-frontend/include").symlink_to(pathlib.Path(frontend).resolve())
        command.append("USE_CUDNN=1")
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ, HOME=str(home)))
    if result.returncode != 0:
        sys.exit("llmc_gpu_step: its Makefile failed: " + result.stderr.strip()[-400:])
    return source / "train_gpt2cu", "cuDNN attention" if frontend else "its own attention"


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
               "-r", "0", "-ge", "1", "-z", "0", "-v", "0", "-s", "0", "-n", "0", "-x", str(count + WARM_UP), "-l", "0.0001"]
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
    source = scratch / "llm.c"
    shutil.copytree(arguments.llmc, source, ignore=shutil.ignore_patterns(".git", "*.bin", "*.o"))
    binary, attention = build(source, arguments.precision.upper())
    for name in ("train.bin", "val.bin"):
        write_tokens(scratch / name, 4 * arguments.batch * arguments.sequence + 1, 50257)
    protocol.serve(f"llm.c train_gpt2cu {arguments.precision}, {attention}, residual and gradients in the same",
                   many=lambda count: run_steps(binary, scratch, arguments, count))
