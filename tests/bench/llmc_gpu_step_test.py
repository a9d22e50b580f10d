"""Goal: llm.c's program is built once, or found where it was built before, and is started with flags that do not crash it."""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "peers"))

import llmc_gpu_step  # noqa: E402


class LlmC(unittest.TestCase):
    """Uses a stand-in for llm.c: a Makefile and scripts instead of its programs."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.folder = pathlib.Path(directory.name)
        self.source = self.folder / "llm.c"
        self.source.mkdir()
        (self.source / "train_gpt2.cu").write_text("")
        (self.source / "Makefile").write_text("train_gpt2cu:\n\techo built >>$(LOG)\n\techo '#!/bin/sh' >$@\n\tchmod +x $@\n")
        tools = self.folder / "tools"
        tools.mkdir()
        (tools / "nvcc").write_text("#!/bin/sh\necho release 12.0\n")
        (tools / "nvcc").chmod(0o755)
        (self.folder / "lib").mkdir()
        (self.folder / "lib/libnvidia-ml.so.1").write_text("")
        self.cache = self.folder / "cache/gp/llm.c"
        self.environment = {"PATH": f"{tools}:{os.environ['PATH']}", "LOG": str(self.folder / "log"), "CUDNN_FRONTEND": "",
                            "XDG_CACHE_HOME": str(self.folder / "cache"), "LD_LIBRARY_PATH": str(self.folder / "lib")}

    def lacking(self, **changes):
        with unittest.mock.patch.dict(os.environ, {**self.environment, **changes}):
            return llmc_gpu_step.lacking(self.source, "bf16")

    def test_is_built_once(self):
        self.assertEqual(self.lacking(), [])
        with unittest.mock.patch.dict(os.environ, self.environment):
            for _ in range(2):
                program, attention = llmc_gpu_step.program_for(self.source, "bf16", self.cache)
        self.assertEqual((program, attention), (self.folder / "cache/gp/llm.c/train_gpt2cu-bf16", "its own attention"))
        self.assertEqual((self.folder / "log").read_text(), "built\n")

    def test_is_taken_where_it_was_built_elsewhere(self):
        ready = self.source / "train_gpt2cu-bf16-cudnn"
        shutil.copy2(shutil.which("true"), ready)
        self.assertEqual(self.lacking(PATH="/nowhere"), [])
        self.assertEqual(llmc_gpu_step.program_for(self.source, "bf16", self.cache), (ready, "cuDNN attention"))

    def test_its_row_builds_nothing_where_it_was_built_elsewhere(self):
        ready = self.source / "train_gpt2cu-bf16"
        shutil.copy2(shutil.which("true"), ready)
        done = subprocess.run([sys.executable, llmc_gpu_step.__file__, "--build", self.source], capture_output=True, text=True,
                              check=False, env={**self.environment, "PATH": "/nowhere"})
        self.assertEqual((done.stdout, done.stderr), (f"{ready}, its own attention\n", ""))

    def test_says_what_its_build_lacks(self):
        self.assertEqual(self.lacking(PATH="/nowhere"), ["nvcc is not on the PATH", "make is not on the PATH"])
        with (unittest.mock.patch.object(llmc_gpu_step, "LIBRARY_FOLDERS", ()),
              unittest.mock.patch.object(llmc_gpu_step, "HEADER_FOLDERS", ())):
            words = "; ".join(self.lacking(LD_LIBRARY_PATH="", CUDNN_FRONTEND=str(self.folder)))
        for lack in ("libnvidia-ml.so is in no library folder", "holds no cudnn_frontend.h", "cudnn.h is in no include folder"):
            self.assertIn(lack, words)
        (self.source / "train_gpt2.cu").unlink()
        self.assertIn("has no train_gpt2.cu and no train_gpt2cu-bf16", "; ".join(self.lacking()))

    def test_gets_no_interval_of_zero(self):
        """train_gpt2.cu computes step % val_loss_every without checking it for 0."""
        arguments = argparse.Namespace(batch=1, sequence=8, channels=768)
        log = "\n".join(f"step {step}/5 | loss 1.0 | 10.00 ms | x" for step in range(1, 6))
        done = subprocess.CompletedProcess([], 0, log, "")
        with unittest.mock.patch.object(subprocess, "run", return_value=done) as started:
            self.assertEqual(llmc_gpu_step.run_steps("train_gpt2cu", self.folder, arguments, 2), [10.0, 10.0])
        command = started.call_args.args[0]
        self.assertGreater(int(command[command.index("-v") + 1]), 5)
        self.assertEqual(command[command.index("-m") + 1], "1")


if __name__ == "__main__":
    unittest.main()
