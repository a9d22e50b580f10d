"""Rows that run the trainer: bit-identical results, cuDNN only where it works, and the time of a start."""
import argparse
import json
import os
import unittest

import gpu_check_case  # first: it adds the modules' folder to sys.path
import engine_runs
import runner


class EngineRuns(gpu_check_case.InFolder):
    def test_compares_bits(self):
        equal = {1: (2.5, 1.0), 2: (2.0, 1.0)}
        self.assertEqual(engine_runs.compare(equal, dict(equal)), {"steps": 2, "first_loss": 2.5, "last_loss": 2.0})
        with self.assertRaisesRegex(RuntimeError, "step 2"):
            engine_runs.compare(equal, {1: (2.5, 1.0), 2: (2.0000000001, 1.0)})
        with self.assertRaisesRegex(RuntimeError, "2 steps against 1"):
            engine_runs.compare(equal, {1: (2.5, 1.0)})

    def test_reads_the_later_of_two_points(self):
        (self.folder / "metrics.jsonl").write_text('{"step":1,"loss":3.0,"grad_norm":1.0}\n{"step":1,"validation_loss":9}\n'
                                                   '{"step":1,"loss":2.5,"grad_norm":1.5}\n')
        self.assertEqual(engine_runs.losses(self.folder), {1: (2.5, 1.5)})

    def trainer(self, script):
        """A context in which gp-trainer-cuda is this shell script."""
        program = self.folder / "gp-trainer-cuda"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        return argparse.Namespace(scratch=self.folder, timeout=100, environment=dict(os.environ), support=None,
                                  program=lambda _: program)

    def supporting(self, cudnn="", mode=""):
        support = {"problem": "",
                   "libraries": [{"name": "cuBLASLt", "problem": ""}, {"name": "cuDNN", "problem": cudnn}],
                   "devices": [{"modes": [{"name": "bf16", "why": ""}, {"name": "cudnn attention", "why": mode}]}]}
        return self.trainer(f"echo '{json.dumps(support)}'")

    def test_with_cudnn_only_where_it_works(self):
        settings = engine_runs.with_cudnn(lambda _, *settings: settings)
        self.assertEqual(settings(self.supporting()), engine_runs.CUDNN)
        with self.assertRaisesRegex(runner.Missing, "no cuDNN attention: libcudnn.so.9: no such file"):
            settings(self.supporting(cudnn="libcudnn.so.9: no such file"))
        with self.assertRaisesRegex(runner.Missing, "needs compute capability 8.0"):
            settings(self.supporting(mode="needs compute capability 8.0"))

    def test_what_is_supported_is_asked_once_a_call(self):
        context = self.trainer(f"echo asked >>{self.folder}/asked; echo '{{}}'")
        self.assertEqual([engine_runs.support_text(context) for _ in range(2)], ["{}\n", "{}\n"])
        self.assertEqual((self.folder / "asked").read_text(), "asked\n")

    def test_two_starts_share_a_cache_that_was_empty(self):
        context = self.trainer('mkdir "$XDG_CACHE_HOME" 2>/dev/null && after=41.50 || after=2.25\n'
                               'echo "2026-01-01T00:00:00.000Z info gp-trainer-cuda first step after_s=$after" >&2')
        for _ in range(2):
            self.assertEqual(engine_runs.starts_soon(context), {"cold_s": 41.5, "warm_s": 2.25})

    def test_judges_starts(self):
        for cold, warm in ((60.1, 5.0), (60.0, 5.1)):
            words = rf"{cold} s after a cold start \(at most 60\) and {warm} s .* \(at most 5\)"
            with self.assertRaisesRegex(RuntimeError, words):
                engine_runs.judge_start(cold, warm)
        with self.assertRaisesRegex(RuntimeError, "logged no 'first step'"):
            engine_runs.seconds_to_first_step("info gp-trainer-cuda model made\n")


if __name__ == "__main__":
    unittest.main()
