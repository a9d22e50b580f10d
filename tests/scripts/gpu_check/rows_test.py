"""How scripts/gpu_check measures a row and judges the result."""
import argparse
import os
import pathlib
import subprocess
import unittest
import unittest.mock
import xml.sax.saxutils

import gpu_check_case  # first: it adds the modules' folder to sys.path
import engine_runs
import llmc_gpu_step
import machine_facts
import rows
import runner


class TestPrograms(gpu_check_case.InFolder):
    NO_DEVICE = "no CUDA device: CUDA driver version is insufficient"
    NEEDS_8 = "tensor cores for bf16 need compute capability 8.0"

    @staticmethod
    def case(name, part=""):
        return f'<testcase name="{name}" status="run" result="completed">{part}</testcase>'

    def skipped(self, name, reason):
        place_and_reason = xml.sax.saxutils.quoteattr(f"tests/some_test.cc:5\n{reason}\n", {"\n": "&#x0A;"})
        return self.case(name, f"<skipped message={place_and_reason}/>")

    def outcome(self, cases, status=0, capability="9.0"):
        """The outcome of a row whose GoogleTest program reports these cases."""
        program = self.folder / "some_test"
        document = f'<testsuites name="AllTests"><testsuite name="S">{"".join(cases)}</testsuite></testsuites>'
        program.write_text(f"#!/bin/sh\ncat >\"${{1#--gtest_output=xml:}}\" <<'END'\n{document}\nEND\nexit {status}\n")
        program.chmod(0o755)
        context = argparse.Namespace(scratch=self.folder, timeout=100, environment=os.environ, test=lambda name: self.folder / name)
        with unittest.mock.patch.object(machine_facts, "gpu", return_value={"compute_cap": capability}):
            return rows.test_program("some_test", context)

    def test_counts_and_names(self):
        failed = self.case("c", '<failure message="x"/>')
        self.assertEqual(self.outcome([self.case("a"), self.case("b")]), {"passed": 2, "skipped": []})
        with self.assertRaisesRegex(RuntimeError, r"^1 of 3 failed: S\.c$"):
            self.outcome([self.case("a"), self.skipped("b", self.NO_DEVICE), failed], status=1)
        with self.assertRaisesRegex(RuntimeError, "ended with 1"):
            self.outcome([self.case("a")], status=1)

    def test_tells_our_kernels_from_nvidias_libraries(self):
        failure = '<failure message="x"/>'
        assumes = failure + '<properties><property name="assumes" value="cuBLASLt takes 7"/></properties>'
        with self.assertRaisesRegex(RuntimeError, r"^what is our own passed; .* \(cuBLASLt takes 7\): S\.b$"):
            self.outcome([self.case("a"), self.case("b", assumes)], status=1)
        with self.assertRaisesRegex(RuntimeError, r"^1 of 3 failed: S\.b$"):
            self.outcome([self.case("a"), self.case("b", failure), self.case("c", assumes)], status=1)

    def test_a_skip_fails_the_row_and_is_named(self):
        cases = [self.case("a"), self.skipped("b", self.NO_DEVICE), self.skipped("c", self.NO_DEVICE),
                 self.skipped("d", "no file")]
        named = rf"{self.NO_DEVICE}: S\.b, S\.c; no file: S\.d"
        with self.assertRaisesRegex(RuntimeError, f"^3 of 4 were skipped, .*: {named}$"):
            self.outcome(cases)

    def test_a_skip_is_excused_by_what_the_gpu_lacks(self):
        cases = [self.case("a"), self.skipped("b", self.NEEDS_8)]
        self.assertEqual(self.outcome(cases, capability="7.5"), {"passed": 1, "skipped": ["S.b"]})
        with self.assertRaisesRegex(RuntimeError, r"1 of 2 were skipped, .*8\.0: S\.b$"):
            self.outcome(cases, capability="9.0")

    def test_a_skip_is_excused_by_what_cublaslt_lacks(self):
        cases = [self.case("a"), self.skipped("b", "cuBLASLt has no sums of dy here")]
        self.assertEqual(self.outcome(cases), {"passed": 1, "skipped": ["S.b"]})

    def test_where_all_are_skipped_something_is_missing(self):
        with self.assertRaisesRegex(runner.Missing, f"every test skipped itself: {self.NO_DEVICE}; is there a GPU"):
            self.outcome([self.skipped("a", self.NO_DEVICE), self.skipped("b", self.NO_DEVICE)])


class Attention(unittest.TestCase):
    def judge(self, precision, attention, cudnn_works):
        missing = None if cudnn_works else runner.Missing("no cuDNN attention: none")
        report = {"precision": precision, "attention": attention, "notes": ["cudnn: refused the plan"]}
        with unittest.mock.patch.object(engine_runs, "need_cudnn", side_effect=missing):
            return rows.judge_attention(report, None)["attention"]

    def test_of_cudnn_is_expected_in_16_bits_where_it_works(self):
        for precision in ("bf16", "fp16", "fp8"):
            self.assertEqual(self.judge(precision, "cudnn 91900", True), "cudnn 91900")
            self.assertEqual(self.judge(precision, "flash", False), "flash")
            with self.assertRaisesRegex(RuntimeError, "^attention was computed by flash, not by cuDNN: cudnn: refused the plan$"):
                self.judge(precision, "flash", True)

    def test_of_cudnn_is_not_expected_in_32_bits(self):
        for precision in ("fp32", "tf32"):
            self.assertEqual(self.judge(precision, "flash", True), "flash")


    def test_of_our_own_is_computed_by_it_where_it_is_asked_for(self):
        for report in ({"precision": "bf16", "attention": "flash"}, {"precision": "bf16", "attention": "cudnn 91900"}):
            with unittest.mock.patch.object(rows, "bench", return_value=report) as bench:
                row = rows.own_attention(None)[1]
                if report["attention"] == "flash":
                    self.assertEqual(row.how(argparse.Namespace())["report"], report)
                else:
                    with self.assertRaisesRegex(RuntimeError, "^attention was computed by cudnn 91900, not by our own kernels$"):
                        row.how(argparse.Namespace())
            self.assertEqual(bench.call_args.args[-2:], ("--attention", "own"))


class PlainLaunches(unittest.TestCase):
    def test_are_asked_for_by_the_environment_of_their_row_alone(self):
        seen = []
        context = argparse.Namespace(environment={"PATH": "/bin"})
        with unittest.mock.patch.object(rows, "step", side_effect=lambda *arguments: seen.append(arguments[4].environment)):
            rows.plain_launches_row().how(context)
        self.assertEqual(seen, [{"PATH": "/bin", "GP_EARLY_LAUNCH": "0"}])
        self.assertEqual(context.environment, {"PATH": "/bin"})


class AddingInProducts(unittest.TestCase):
    def test_is_measured_beside_the_default(self):
        seen = []
        context = argparse.Namespace(environment={"PATH": "/bin"})
        with unittest.mock.patch.object(rows, "step", side_effect=lambda *arguments: seen.append(arguments[4].environment)):
            for row in rows.adding_rows():
                row.how(context)
        self.assertEqual(seen, [{"PATH": "/bin", "GP_ADD_IN_PRODUCTS": "1"}, {"PATH": "/bin"}])


class Comparison(unittest.TestCase):
    def compare(self, batch, fits):
        """Compares on a simulated GPU whose memory holds batches of at most `fits`."""
        def step(_model, batch, *_):
            if batch > fits:
                raise runner.OutOfMemory(f"gp-peer-bench-cuda: no room for {batch}")
            return {"batch": batch}

        row = rows.step_row("124M", batch, "bf16", "torch-compile")
        with unittest.mock.patch.object(rows, "step", step):
            return row.how(argparse.Namespace())

    def test_is_made_at_the_batch_of_the_row(self):
        data = self.compare(64, fits=64)
        self.assertEqual((data["batch"], data["report"], data["target"]), (64, {"batch": 64}, 1.15))
        self.assertNotIn("note", data)

    def test_is_made_at_half_of_it_and_judged_alike(self):
        data = self.compare(64, fits=32)
        self.assertEqual((data["batch"], data["report"], data["target"]), (32, {"batch": 32}, 1.15))
        self.assertEqual(data["note"], "out of memory at B=64: gp-peer-bench-cuda: no room for 64")

    def test_says_when_nothing_fits(self):
        with self.assertRaisesRegex(runner.Missing, "^out of memory at B=64: .* 64; at B=32: .* 32$"):
            self.compare(64, fits=16)
        with self.assertRaisesRegex(runner.Missing, "^out of memory at B=1: "):
            self.compare(1, fits=0)

    def test_with_llmc_is_judged_where_the_numerics_are_equal(self):
        for batch, target in ((64, 1.10), (4, 2.0), (1, 2.0)):
            tagged = rows.step_row("124M", batch, "bf16", "llmc", tag=rows.BF16_RESIDUAL)
            self.assertEqual(rows.TARGETS[tagged.judged], target)
            self.assertIsNone(rows.step_row("124M", batch, "bf16", "llmc").judged)

    def test_with_llmc_finds_its_lack_of_memory(self):
        swaps = "WARNING: Fell back to cudaMallocManaged when initializing m,v,master_weights on 1 GPUs"
        fails = "[CUDA ERROR] at file train_gpt2.cu:5:\nout of memory"
        arguments = argparse.Namespace(batch=64, sequence=1024, channels=768)
        for words, status in ((swaps, 0), (fails, 1)):
            done = subprocess.CompletedProcess([], status, words, "a warning")
            with (unittest.mock.patch.object(subprocess, "run", return_value=done),
                  self.assertRaisesRegex(SystemExit, runner.SHORT_OF_MEMORY)):
                llmc_gpu_step.run_steps("train_gpt2cu", pathlib.Path(), arguments, 5)

    def test_memory_is_at_most_what_was_planned(self):
        self.assertEqual(rows.judge_memory(100, 99), {"planned_bytes": 100, "engine_bytes": 99})
        with self.assertRaisesRegex(RuntimeError, "took 107 bytes, 7 more than"):
            rows.judge_memory(100, 107)


if __name__ == "__main__":
    unittest.main()
