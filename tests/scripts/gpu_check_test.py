"""scripts/gpu_check packs what a GPU machine needs, lists what it would do, survives being killed, and writes its report from
results alone."""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts/gpu_check"
sys.path.insert(0, str(ROOT / "tests/bench/gpu_check"))

import engine_runs  # noqa: E402
import libraries  # noqa: E402
import machine_facts  # noqa: E402
import package  # noqa: E402
import report  # noqa: E402
import rows  # noqa: E402
import runner  # noqa: E402

TIMES = {"median": 10.0, "quartile_1": 9.0, "quartile_3": 11.0}


class InFolder(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.folder = pathlib.Path(directory.name)

    def check(self, *arguments, script=SCRIPT):
        done = subprocess.run([sys.executable, str(script), *map(str, arguments)], capture_output=True, text=True, check=False,
                              cwd=self.folder)
        return done.returncode, done.stdout, done.stderr

    def make_build(self, program=shutil.which("true")):
        """A build tree whose programs are some program of this system."""
        build = self.folder / "build"
        names = [f"bin/{name}" for name in package.PROGRAMS] + ["tests/kernels_test", "tests/backend_test"]
        for name in names:
            (build / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(program, build / name)
        (build / "gpu_tests.txt").write_text("kernels_test\nbackend_test\n")
        return build


class Packaging(InFolder):
    def test_takes_programs_libraries_and_itself_along(self):
        build = self.make_build(shutil.which("ninja"))  # a program with libraries of its own
        status, output, errors = self.check("--package", self.folder / "package", "--build", build)
        self.assertEqual((status, errors), (0, ""), output)
        manifest = json.loads((self.folder / "package/package.json").read_text())
        self.assertEqual(manifest["tests"], ["kernels_test", "backend_test"])
        self.assertRegex(manifest["glibc"], r"^2\.\d+$")
        self.assertTrue(os.access(self.folder / "package/bin/gp-trainer-cuda", os.X_OK))
        taken = {path.name for path in (self.folder / "package/lib").iterdir()}
        self.assertTrue(any(name.startswith("libstdc++") for name in taken), taken)
        self.assertFalse(any(package.EXPECTED_THERE.match(name) for name in taken), taken)
        self.assertTrue((self.folder / "package/tests/bench/peers/torch_step.py").exists())
        self.assertFalse(any(str(ROOT) in path.read_text() for path in (self.folder / "package").rglob("*.json")))

    def test_the_package_runs_by_itself(self):
        self.check("--package", self.folder / "package", "--build", self.make_build())
        status, output, _ = self.check("--dry-run", script=self.folder / "package/scripts/gpu_check")
        self.assertEqual(status, 0)
        self.assertIn("test-kernels_test", output)
        self.assertRegex(output, r"MiB +gp-bench-cuda")
        self.assertIn("cuDNN (libcudnn.so.9)", output)

    def test_a_program_finds_its_libraries_in_the_package(self):
        source = self.folder / "program.c"
        source.write_text("int answer(void);\nint main(void) { return answer(); }\n")
        (self.folder / "answer.c").write_text("int answer(void) { return 42; }\n")
        gcc = ["gcc", "-o"]
        subprocess.run([*gcc, self.folder / "libanswer.so", "-shared", "-fPIC", self.folder / "answer.c"], check=True)
        subprocess.run([*gcc, self.folder / "program", source, f"-L{self.folder}", "-lanswer", f"-Wl,-rpath,{self.folder}",
                        "-Wl,--disable-new-dtags"], check=True)
        build = self.make_build(self.folder / "program")
        package.make(build, self.folder / "package")
        (self.folder / "libanswer.so").unlink()
        environment = {key: value for key, value in os.environ.items() if key != "LD_LIBRARY_PATH"}
        done = subprocess.run([self.folder / "package/bin/gp-trainer-cuda"], check=False, env=environment)
        self.assertEqual(done.returncode, 42)

    def test_names_what_is_not_built(self):
        status, _, errors = self.check("--package", self.folder / "package", "--build", self.folder)
        self.assertEqual(status, 1)
        self.assertIn("gp-trainer-cuda; run cmake --preset cuda", errors)

    def test_refuses_a_package_that_is_too_large(self):
        with unittest.mock.patch.object(package, "LIMIT_BYTES", 1000):
            with self.assertRaisesRegex(RuntimeError, "more than 0; the largest: .*"):
                package.make(self.make_build(), self.folder / "package")

    def test_leaves_what_the_machine_has(self):
        for name in ("libc.so.6", "libcudart.so.13", "libtorch_cpu.so", "libcuda.so.1", "ld-linux-x86-64.so.2", "libgomp.so.1"):
            self.assertTrue(package.EXPECTED_THERE.match(name), name)
        for name in ("libfmt.so.9", "libstdc++.so.6", "libcrypto.so.3", "libyaml-cpp.so.0.7", "libcurl.so.4"):
            self.assertFalse(package.EXPECTED_THERE.match(name), name)


class DryRun(InFolder):
    def test_lists_every_stage_and_its_rows_and_sizes(self):
        status, output, _ = self.check("--dry-run", "--build", self.make_build())
        self.assertEqual(status, 0)
        for stage in rows.STAGES:
            self.assertRegex(output, rf"(?m)^{stage}:")
        for words in ("step-124M-b64-bf16-torch-compile", "gradients-fp8", "resume", "nccl-1", "ladder-124M", "of at most 64 MiB"):
            self.assertIn(words, output)

    def test_every_row_fits_its_stage(self):
        context = argparse.Namespace(tests=["a_test"])
        for stage in rows.MAKERS:
            listed = rows.of(stage, context)
            self.assertEqual(len({row.key for row in listed}), len(listed))
            for row in listed:
                self.assertLess(row.expected_s, 580 - runner.GRACE_S)
                self.assertRegex(row.key, r"^[A-Za-z0-9._-]+$")


class Stages(InFolder):
    def run_rows(self, listed, limit_s=60.0):
        self.lines = []
        results = runner.Results(self.folder, "stage")
        left = runner.run_stage(listed, results, argparse.Namespace(), limit_s, self.lines.append)
        return left, json.loads((self.folder / "stage.json").read_text())["rows"]

    @staticmethod
    def row(key, how, expected_s=0.0):
        return rows.Row(key, f"title of {key}", how, expected_s)

    def test_a_row_that_fails_is_not_the_end(self):
        def fail(_):
            raise RuntimeError("out of memory")

        def absent(_):
            raise runner.Missing("no llm.c")

        left, result = self.run_rows([self.row("a", fail), self.row("b", absent), self.row("c", lambda _: {"x": 1})])
        self.assertEqual(left, 0)
        self.assertEqual([result[key]["status"] for key in "abc"], ["failed", "skipped", "ok"])
        self.assertEqual(result["a"]["reason"], "out of memory")
        self.assertEqual(result["c"]["data"], {"x": 1})

    def test_goes_on_where_it_was(self):
        self.run_rows([self.row("a", lambda _: {"run": 1})])
        _, result = self.run_rows([self.row("a", lambda _: {"run": 2}), self.row("b", lambda _: {"run": 2})])
        self.assertEqual((result["a"]["data"]["run"], result["b"]["data"]["run"]), (1, 2))

    def test_begins_no_row_that_has_no_time_left(self):
        left, result = self.run_rows([self.row("long", lambda _: {}, expected_s=100), self.row("short", lambda _: {})])
        self.assertEqual((left, list(result)), (1, ["short"]))

    def test_a_row_that_dies_with_its_stage_is_given_up_after_two(self):
        script = (f"import sys, os; sys.path.insert(0, {str(ROOT / 'tests/bench/gpu_check')!r})\n"
                  "import rows, runner\n"
                  f"results = runner.Results({str(self.folder)!r}, 'stage')\n"
                  "runner.run_stage([rows.Row('dies', 't', lambda c: os._exit(9), 0)], results, type('C', (), {})(), 60)\n")
        for _ in range(2):
            self.assertEqual(subprocess.run([sys.executable, "-c", script], check=False).returncode, 9)
        left, result = self.run_rows([self.row("dies", lambda _: {}), self.row("next", lambda _: {})])
        self.assertEqual((left, result["dies"]["status"], result["next"]["status"]), (0, "failed", "ok"))
        self.assertIn("did not end in 2 stages", result["dies"]["reason"])

    def test_a_program_is_ended_when_its_time_is_up(self):
        started = time.monotonic()
        with self.assertRaisesRegex(RuntimeError, "sleep took longer than 0 s"):
            runner.run(["sleep", "30"], 0.05, os.environ)
        self.assertLess(time.monotonic() - started, 10)
        with self.assertRaisesRegex(RuntimeError, "ended with 3: bad luck"):
            runner.run(["sh", "-c", "echo bad luck >&2; exit 3"], 10, os.environ)
        with self.assertRaisesRegex(RuntimeError, "could not be started"):
            runner.run([self.folder / "absent"], 10, os.environ)


class TestPrograms(InFolder):
    def outcome(self, suites, status=0):
        """What is made of the report of a GoogleTest program."""
        program = self.folder / "some_test"
        document = json.dumps({"testsuites": [{"name": "S", "testsuite": suites}]})
        program.write_text(f"#!/bin/sh\necho '{document}' >\"${{1#--gtest_output=json:}}\"\nexit {status}\n")
        program.chmod(0o755)
        context = argparse.Namespace(scratch=self.folder, timeout=20, environment=os.environ, test=lambda name: self.folder / name)
        return rows.test_program("some_test", context)

    def test_counts_and_names(self):
        passed, skipped = {"name": "a", "result": "COMPLETED"}, {"name": "b", "result": "SKIPPED"}
        failed = {"name": "c", "result": "COMPLETED", "failures": [{"failure": "x"}]}
        self.assertEqual(self.outcome([passed, skipped]), {"passed": 1, "skipped": ["S.b"]})
        with self.assertRaisesRegex(RuntimeError, r"1 of 3 failed: S\.c"):
            self.outcome([passed, skipped, failed], status=1)
        with self.assertRaises(runner.Missing):
            self.outcome([skipped])
        with self.assertRaisesRegex(RuntimeError, "ended with 1"):
            self.outcome([passed], status=1)


class Machine(unittest.TestCase):
    def test_compares_versions_of_glibc_as_numbers(self):
        self.assertTrue(machine_facts.older("2.9", "2.34"))
        self.assertFalse(machine_facts.older("2.36", "2.34"))

    def test_says_which_libraries_are_missing(self):
        with unittest.mock.patch.object(libraries, "found", return_value={"cuDNN": None, "NCCL": "x"}):
            with self.assertRaisesRegex(RuntimeError, "not found: cuDNN; use a Python with torch"):
                machine_facts.facts(None)

    def test_names_a_gpu_for_files(self):
        self.assertEqual(machine_facts.slug("NVIDIA H100 80GB HBM3"), "nvidia-h100-80gb-hbm3")


class EngineRuns(InFolder):
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


def canned_results():
    """One of everything that a report shows, not measured anywhere."""
    def ok(title, data):
        return {"title": title, "status": "ok", "seconds": 1.0, "data": data}

    gpu = {"name": "NVIDIA Example", "driver_version": "1", "memory.total": "2 MiB", "compute_cap": "9.0", "power.limit": "3 W"}
    step = {"kind": "StepBench", "model": "124M", "batch": 64, "precision": "bf16", "step_ms": TIMES, "forward_ms": 3.0,
            "backward_ms": 6.0, "optimizer_ms": 1.0, "tokens_per_second": 1000.0, "mfu": 0.5, "loss": 10.9}
    peer = {"description": "torch", "ms": TIMES, "ratio_of_medians": 1.1, "ratio_by_block": TIMES}
    operations = [{"name": "c_fc forward", "shape": "4 x 5", "gflops": 5e5, "of_peak": 0.75, "ms": TIMES, "calls_per_step": 12},
                  {"name": "AdamW", "shape": "9", "gigabytes_per_second": 3000.0, "of_peak": 0.9, "ms": TIMES, "calls_per_step": 1}]
    return {
        "correctness": {
            "machine": ok("m", {"gpu": gpu, "commit": "abc", "torch": "2.11", "python": "3.12", "cores": 16}),
            "test-x": ok("x", {"passed": 7, "skipped": ["a"]}),
            "resume": {"title": "resume", "status": "failed", "reason": "step 3 differs", "seconds": 1.0},
            "graphs": {"title": "graphs", "status": "started", "attempts": 1}},
        "precision": {"gradients-bf16": ok("bf16", {
            "kind": "GradientCheck", "loss": 4.1, "reference_loss": 4.1, "gradient_error": 0.001, "tolerance": 0.01,
            "worst_tensor": "wte", "worst_error": 0.004})},
        "bench-small": {
            "kernels": ok("k", {"kind": "KernelBench", "model": "124M", "rows": 65536, "precision": "bf16", "operations": operations,
                                "peak_gflops_measured": 7e5, "gigabytes_per_second_measured": 3300.0}),
            "profile": ok("p", {**step, "operations": [{"name": "AdamW", "calls": 1, "ms": 2.5}]}),
            "step-124M-b64-bf16-torch-compile": ok("124M beside torch.compile", {"target": 1.15, "report": {**step, "peer": peer}}),
            "step-124M-b64-bf16-llmc": {"title": "124M beside llm.c", "status": "skipped", "reason": "no copy", "seconds": 0.0}},
        "bench-large": {
            "ladder-124M": ok("l", {"kind": "Ladder", "rungs": [
                {"name": "bf16", "step_ms": TIMES, "tokens_per_second": 5.0, "gain": 2.0, "kept": True},
                {"name": "fp8", "not_climbed": "no fp8 here"}]}),
            "step-1558M-b4-bf16": ok("b", {"target": None, "report": step}),
            "step-1558M-b4-fp8": ok("f", {"target": None, "report": {**step, "step_ms": {**TIMES, "median": 8.0}}})}}


class Report(InFolder):
    def setUp(self):
        super().setUp()
        for stage, found in canned_results().items():
            results = runner.Results(self.folder, stage)
            for key, row in found.items():
                results.put(key, row)
        planned = {stage: [] for stage in rows.MAKERS}
        planned["bench-small"] = [rows.Row("step-tiny", "tiny", None)]
        self.paths = report.write(self.folder, self.folder / "docs", planned, date="2026-01-01")
        self.text = self.paths[1].read_text()

    def test_is_named_after_the_gpu(self):
        self.assertEqual([path.name for path in self.paths], ["nvidia-example.json", "nvidia-example.md"])
        self.assertEqual(json.loads(self.paths[0].read_text())["kind"], "GpuReport")
        self.assertIn("# NVIDIA Example\n\nMeasured 2026-01-01 by `scripts/gpu_check` at commit abc", self.text)

    def test_shows_what_was_found(self):
        for line in ("| x | ok | 7 passed, 1 skipped |",
                     "| bf16 | ok | loss 4.10000 against 4.10000; gradients differ by 1.0e-03 (allowed 1e-02), most in wte (4.0e-03) |",
                     "| 124M beside torch.compile | 10.00 (9.00–11.00) | 1,000 | 50 % | 10.00 (9.00–11.00) | 1.10 (9.00–11.00) | "
                     "≥ 1.15: short by 4 % |",
                     "FP8 at 1558M, B=4: 1.25 times as fast as bf16 (≥ 1.30: short by 4 %).",
                     "| c_fc forward | 4 x 5 | 10.0000 | 500.0 TFLOP/s | 75 % | 12 | 120.000 |",
                     "| AdamW | 9 | 10.0000 | 3000 GB/s | 90 % | 1 | 10.000 |",
                     "forward 3.00, backward 6.00, optimizer 1.00", "| AdamW | 1 | 2.500 | 100 % |", "| bf16 |  | 10.00 | 5 | 2.00 |  |"):
            self.assertIn(line, self.text)

    def test_says_what_was_not(self):
        for line in ("| resume | failed: step 3 differs |  |", "| graphs | not finished: the stage ended while it ran |  |",
                     "not measured: skipped: no copy", "not climbed: no fp8 here", "not measured: skipped: not run"):
            self.assertIn(line, self.text)

    def test_every_table_has_cells_under_its_titles(self):
        widths = [line.count("|") for line in self.text.splitlines() if line.startswith("|")]
        blocks = re.split(r"\n(?!\|)", self.text)
        self.assertTrue(widths)
        for block in blocks:
            self.assertLessEqual(len({line.count("|") for line in block.splitlines() if line.startswith("|")}), 1, block)

    def test_needs_a_gpu(self):
        with tempfile.TemporaryDirectory() as empty, self.assertRaisesRegex(RuntimeError, "no GPU was seen yet"):
            report.write(empty, self.folder, {"correctness": []})


if __name__ == "__main__":
    unittest.main()
