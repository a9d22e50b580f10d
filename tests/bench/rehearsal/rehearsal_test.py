"""Goal: a person gets from the package to the report with scripts/gpu_check on a machine with a GPU, although a peer hangs,
another one is missing at first, a call is killed, and the rest is done on a second machine, which has cuDNN.

The programs compute tiny shapes on the emulated device; torch, cuDNN, llm.c's program, nvidia-smi and compute-sanitizer are
stand-ins.
"""
import json
import os
import pathlib
import select
import shutil
import subprocess
import sys
import tempfile
import time
import types
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(ROOT / "tests/bench/gpu_check"), str(ROOT / "tests/bench/peers")]

import libraries  # noqa: E402
import package  # noqa: E402
import rows  # noqa: E402

BUILT = pathlib.Path(os.environ["GP_BIN"]).resolve().parent / "tests"
# The program of this build that stands for each program of a package.
PROGRAMS = {"bin/gp-peer-bench-cuda": "gp-bench-rehearsed", "bin/gp-trainer-cuda": "gp-trainer-rehearsed",
            "tests/nccl_device_gpu_test": "nccl_device_test", "tests/cuda_kernels_gpu_test": "cuda_kernels_test",
            "tests/cuda_backend_gpu_test": "cuda_backend_test", "tests/cuda_model_gpu_test": "cuda_model_test",
            "tests/cuda_training_gpu_test": "cuda_training_test"}
QUICK_TESTS = ("*NcclOnDevices.SumLosses*", "AdamWKernel.*", "CudaRuntime.*", "Gpt2OnCuda.SaysWhatItIs",
               "CudaTraining.ARecorded*")
# Large pages, because the emulated device of each program fills its memory, 100 MB.
LARGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
HANGS = "step-tiny-b64-bf16-torch"  # see fake_torch
# The rows that do not end with "ok": their status and the beginning of the reason.
EXPECTED = {HANGS: ("failed", "was ended together with 2 calls")}
# The attention kernel that each precision uses on a machine with cuDNN.
ATTENTION = {"fp32": "flash", "tf32": "flash", "bf16": "cudnn 91900", "fp16": "cudnn 91900", "fp8": "cudnn 91900"}

NVIDIA_SMI = """#!/bin/sh
case "$*" in
  *--loop-ms=*) echo '1755, 2619, 690.1, 60, 99';;
  *) echo 'Emulated GPU, 580.65, 4096 MiB, 9.0, 700.00 W, 1980 MHz';;
esac
"""
NCU = """#!/bin/sh
while [ "$1" != -- ]; do shift; done
shift
"$@" > /dev/null || exit
echo '"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"'
echo '"0","LayerNormKernel","gpu__time_duration.sum","ns","1500"'
echo '"0","LayerNormKernel","sm__throughput.avg.pct_of_peak_sustained_elapsed","%","20"'
echo '"0","LayerNormKernel","dram__throughput.avg.pct_of_peak_sustained_elapsed","%","90"'
"""
COMPUTE_SANITIZER = """#!/bin/sh
test "$1 $2 $3 $4" = '--tool memcheck --error-exitcode 9' || exit 2
shift 4
"$@" && echo '========= ERROR SUMMARY: 0 errors'
"""
# Stands for train_gpt2cu: divides by -v like llm.c, and prints lines in its format. It reports 60 s for a step, so that the
# emulated device is faster even on a busy machine.
TRAIN_GPT2 = """#!/bin/sh
while [ $# -gt 0 ]; do
  case $1 in -x) steps=$2;; -v) every=$2;; -i) tokens=$2;; esac
  shift 2
done
test -s "$tokens" && : $((1 % every)) || exit 8
for step in $(seq "$steps"); do
  printf 'step %4d/%d | loss 10.900000 (+nanz)| norm 1.0000 (+nanz)| lr 1.00e-04 | 60000.00 ms | 50.0%% bf16 MFU | 9 tok/s\\n' \\
    "$step" "$steps"
done
"""


def write_program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def is_alive(pid):
    try:
        return "(zombie)" not in pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except FileNotFoundError:
        return False


class Machine:
    """A folder with the package and OUT, the only things that a person copies to a machine."""

    def __init__(self, folder, brought, environment, python):
        self.folder, self.environment, self.python = folder, environment, python
        folder.mkdir()
        for path in brought:
            shutil.move(path, folder / path.name)
        self.out = folder / "gpu_check"

    def start(self, *arguments):
        return subprocess.Popen([self.python, "package/scripts/gpu_check", *map(str, arguments)], cwd=self.folder,
                                env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def check(self, *arguments):
        """Runs a call of gpu_check; returns its exit status and its output."""
        with self.start(*arguments) as process:
            output = process.communicate()[0]
        print(f"gpu_check {' '.join(map(str, arguments))}\n{output}", flush=True)
        return process.returncode, output

    def results(self):
        """{key: row} of all stages."""
        stages = json.loads((self.out / "results.json").read_text(encoding="utf-8"))["stages"]
        return {key: row for stage in stages.values() for key, row in stage.items()}


class Rehearsal(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.folder = pathlib.Path(directory.name)
        self.make_python()
        write_program(self.folder / "tools/nvidia-smi", NVIDIA_SMI)
        write_program(self.folder / "tools/ncu", NCU)
        write_program(self.folder / "tools/compute-sanitizer", COMPUTE_SANITIZER)
        write_program(self.folder / "llm.c/train_gpt2cu-bf16", TRAIN_GPT2)
        (self.folder / "home").mkdir()
        hanging = self.folder / "hanging"
        os.mkfifo(hanging)
        self.hanging = os.open(hanging, os.O_RDWR)
        self.addCleanup(os.close, self.hanging)
        self.environment = {"PATH": f"{self.folder}/tools:/usr/bin:/bin", "HOME": str(self.folder / "home"),
                            "TMPDIR": str(self.folder), "GTEST_FILTER": ":".join(QUICK_TESTS), "HANGING_PEER": str(hanging),
                            **LARGE_PAGES}

    def make_python(self):
        """A Python whose torch brings the libraries that the package leaves out."""
        self.python = self.folder / "python/bin/python"
        site = self.folder / "python/lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
        self.python.parent.mkdir(parents=True)
        self.python.symlink_to(sys.executable)
        (self.folder / "python/pyvenv.cfg").write_text(f"home = {pathlib.Path(sys.executable).parent}\n", encoding="utf-8")
        shutil.copytree(HERE / "fake_torch", site / "torch", ignore=shutil.ignore_patterns("__pycache__"))
        (site / "torch-2.11.0.dist-info").mkdir()
        (site / "torch-2.11.0.dist-info/METADATA").write_text("Name: torch\nVersion: 2.11.0+cu130\n", encoding="utf-8")
        self.libraries = site / "torch/lib"
        self.bring_libraries(self.libraries)

    def bring_libraries(self, folder):
        """Makes links to this machine's LibTorch and, as NCCL, to a library of the tests, and empty files for the libraries
        that the emulation does not need. No program can open the empty libcudnn.so.9, as if cuDNN were missing."""
        folder.mkdir()
        for name, path in package.loaded_libraries(BUILT / PROGRAMS["bin/gp-peer-bench-cuda"]).items():
            if path and package.EXPECTED_THERE.match(name) and not path.startswith(("/lib", "/usr/lib")):
                (folder / name).symlink_to(path)
        (folder / "libnccl.so.2").symlink_to(BUILT / "libgp_fake_nccl.so")
        for name in libraries.NEEDED.values():
            if not (folder / name).exists():
                (folder / name).touch()

    def bring_cudnn(self):
        library = self.libraries / libraries.NEEDED["cuDNN"]
        library.unlink()
        library.symlink_to(BUILT / "libgp_fake_cudnn.so")

    def make_package(self):
        build = self.folder / "build"
        for name, program in PROGRAMS.items():
            (build / name).parent.mkdir(parents=True, exist_ok=True)
            (build / name).symlink_to(BUILT / program)
        names = [pathlib.Path(name).name for name in PROGRAMS if name.startswith("tests/")]
        (build / "gpu_tests.txt").write_text("\n".join(names), encoding="utf-8")
        made = self.folder / "package"
        subprocess.run([sys.executable, ROOT / "scripts/gpu_check", "--package", made, "--build", build], check=True)
        shutil.rmtree(build)
        return made

    def machine(self, name, *brought):
        return Machine(self.folder / name, brought, self.environment, self.python)

    def await_hanging(self):
        """Waits until a peer hangs; returns the ids of the processes."""
        self.assertTrue(select.select([self.hanging], [], [], 60)[0], "no peer hangs")
        return list(map(int, os.read(self.hanging, 4096).split()))

    def expect_nothing_of_the_source_tree(self, pids):
        for pid in pids:
            process = pathlib.Path("/proc", str(pid))
            told = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
            for place in (told.decode(), os.readlink(process / "exe"), os.readlink(process / "cwd")):
                self.assertNotIn(str(ROOT), place)

    def expect_end(self, pids):
        """Waits until all processes have ended, because a killed process takes a moment to end."""
        deadline = time.monotonic() + 60
        while any(map(is_alive, pids)):
            self.assertLess(time.monotonic(), deadline, f"of {pids} one lives")
            time.sleep(0.01)

    def test_ends_with_a_report_on_the_second_machine(self):
        first = self.machine("first", self.make_package())
        self.starts_by_hand(first)
        self.hangs(first)
        self.is_killed(first)
        self.misses_a_peer(first)
        done = {key: row for key, row in first.results().items() if row["status"] == "ok"}
        shutil.rmtree(self.folder / "first/gpu_check-cache")
        self.bring_cudnn()
        second = self.machine("second", first.folder / "package", first.out)
        self.goes_on(second, done)
        self.expect_every_row(second)
        self.expect_report(second)

    def starts_by_hand(self, machine):
        done = subprocess.run([machine.folder / "package/run", "gp-peer-bench-cuda", "--version"], capture_output=True, text=True,
                              check=False, env={**machine.environment, "PYTHON": str(self.python)})
        self.assertRegex(done.stdout, r"^gp-peer-bench-cuda \d", done.stderr)

    def hangs(self, machine):
        """A peer hangs until the call ends it."""
        status, output = machine.check("--stage", "bench-tiny", "--limit", 37)
        self.assertEqual(status, 3)
        self.assertRegex(output, rf"left +\d+\.\d s  {HANGS}: gp-peer-bench-cuda took longer than \d+ s\n")
        self.expect_end(self.await_hanging())
        self.assertEqual(machine.results()[HANGS]["status"], "started")

    def is_killed(self, machine):
        """The same peer hangs again, and gpu_check is killed meanwhile."""
        with machine.start("--stage", "bench-tiny", "--limit", 37) as call:
            pids = self.await_hanging()
            self.expect_nothing_of_the_source_tree([call.pid, *pids])
            call.kill()
        self.expect_end(pids)
        self.assertEqual(machine.results()[HANGS]["attempts"], 2)

    def misses_a_peer(self, machine):
        status, output = machine.check("--stage", "headline", "--stage", "correctness", "--stage", "headline-details")
        self.assertEqual(status, 0)
        self.assertIn("llm.c will not be measured: no copy of llm.c: pass --llmc DIR", output)
        found = machine.results()
        for key in ("llmc-build", "step-124M-b64-bf16-bf16-residual-llmc"):
            self.assertEqual((found[key]["status"], found[key]["reason"]), ("skipped", "no copy of llm.c: pass --llmc DIR"))
        for key in ("graphs-cudnn", "resume-cudnn"):
            self.assertEqual(found[key]["status"], "skipped")
            self.assertIn("no cuDNN attention: ", found[key]["reason"])
        self.assertEqual(found["step-124M-b64-bf16-torch-compile"]["status"], "ok")

    def goes_on(self, machine, done):
        """Calls gpu_check until no row is left. Results, tuning and compiled code of the first machine are kept."""
        status = 3
        while status == 3:
            status, _ = machine.check("--llmc", self.folder / "llm.c")
        self.assertEqual(status, 1)
        found = machine.results()
        self.assertEqual({key: found[key] for key in done}, done)
        compiled = (machine.folder / "gpu_check-cache/inductor/compiled").read_text(encoding="utf-8")
        self.assertEqual(compiled, str(self.folder / "first/package/tests/bench/peers/torch_step.py"))

    def expect_every_row(self, machine):
        tests = json.loads((machine.folder / "package/package.json").read_text(encoding="utf-8"))["tests"]
        planned = [row.key for stage in rows.MAKERS for row in rows.of(stage, types.SimpleNamespace(tests=tests))]
        found = machine.results()
        self.assertEqual(sorted(found), sorted(planned))
        for key, row in found.items():
            with self.subTest(key):
                status, reason = EXPECTED.get(key, ("ok", ""))
                self.assertEqual(row["status"], status, row.get("reason"))
                self.assertIn(reason, row.get("reason", ""))

    def expect_report(self, machine):
        names = ["cache.tar.gz", "emulated-gpu.json", "emulated-gpu.md", "results.json"]
        self.assertEqual(sorted(path.name for path in machine.out.iterdir()), names)
        text = (machine.out / "emulated-gpu.md").read_text(encoding="utf-8")
        for words in ("# Emulated GPU\n", "Driver 580.65, 4096 MiB, compute capability 9.0", "torch 2.11.0+cu130",
                      "### 1558M, 16 rows, fp8", "| clocks.sm | 1755 | 1755 |", "| `LayerNormKernel` | 1 | 0.002 | 20 % | 90 % |",
                      "| 124M, 2 texts, bf16 |", "| 124M, B=64, bf16 own-attention (flash attention) |", "FP8 at 1558M, B=64: "):
            self.assertIn(words, text)
        self.assertRegex(text, r"124M, B=64, bf16 beside torch.compile \(flash attention\) .* ≥ 1.15: short by \d+ %")
        # The emulation is faster than the stand-in for llm.c, unless the machine is busy.
        self.assertRegex(text, r"124M, B=64, bf16 bf16-residual beside llm.c \(cudnn 91900 attention\) .* ≥ 1.10: (met|short by \d+ %)")
        for precision, attention in ATTENTION.items():
            self.assertIn(f"| 124M, B=16, {precision} ({attention} attention) |", text)
        self.assertNotIn("skipped: not run", text)


if __name__ == "__main__":
    unittest.main()
