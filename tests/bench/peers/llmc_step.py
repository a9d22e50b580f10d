"""The peer of `gp-peer-bench step --peer llmc --llmc DIR`: llm.c's CPU step, built from the user's copy of its source with the
flags of its Makefile (clang when there is one, else gcc) in a temporary directory; with --device cuda llmc_gpu_step.py."""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import llmc_gpu_step
import protocol

FLAGS = ["-Ofast", "-march=native", "-fopenmp", "-DOMP", "-w"]


def build(source, binary):
    """Tries clang first, like llm.c's Makefile, then gcc: Debian's clang has no OpenMP unless libomp-dev is installed."""
    driver = pathlib.Path(__file__).with_name("llmc_driver.c")
    for compiler in ("clang", "gcc", "cc"):
        if shutil.which(compiler) is None:
            continue
        command = [compiler, *FLAGS, f"-I{source}", str(driver), "-o", str(binary), "-lm"]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode == 0:
            return compiler
    sys.exit("llmc_step: no C compiler with OpenMP built it: " + result.stderr.strip()[-400:])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    protocol.add_step_arguments(parser)
    parser.add_argument("--llmc", type=pathlib.Path, default=os.environ.get("LLMC"),
                        help="directory of llm.c's source (or $LLMC)")
    arguments = parser.parse_args()
    if arguments.llmc is None:
        sys.exit("llmc_step: --llmc must name a copy of llm.c's source")
    if arguments.device == "cuda":
        with tempfile.TemporaryDirectory() as scratch:
            return llmc_gpu_step.serve(arguments, pathlib.Path(scratch))
    if not (arguments.llmc / "train_gpt2.c").exists():
        sys.exit("llmc_step: --llmc must name a copy of llm.c's source, with train_gpt2.c in it")
    if arguments.precision != "fp32" or not arguments.bias or arguments.gelu != "tanh":
        sys.exit("llmc_step: llm.c on a CPU computes in fp32, with biases and the tanh GELU only")
    padded = -(-arguments.vocabulary // 128) * 128
    sizes = [arguments.layers, arguments.heads, arguments.channels, arguments.context, arguments.vocabulary, padded,
             arguments.batch, arguments.sequence]
    with tempfile.TemporaryDirectory() as scratch:
        binary = pathlib.Path(scratch) / "llmc_driver"
        build(arguments.llmc.resolve(), binary)
        driver = subprocess.Popen([str(binary), *map(str, sizes)],
                                  env=dict(os.environ, OMP_NUM_THREADS=str(arguments.threads)))
    return driver.wait()


if __name__ == "__main__":
    sys.exit(main())
