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
import xml.sax.saxutils

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts/gpu_check"
sys.path[:0] = [str(ROOT / "tests/bench/gpu_check"), str(ROOT / "tests/bench/peers")]

import caches  # noqa: E402
import engine_runs  # noqa: E402
import libraries  # noqa: E402
import llmc_gpu_step  # noqa: E402
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

    def test_run_starts_a_program_by_hand(self):
        self.check("--package", self.folder / "package", "--build", self.make_build(shutil.which("env")))
        done = subprocess.run([self.folder / "package/run", "gp-bench-cuda", "echo", "hello"], capture_output=True, text=True,
                              check=True, cwd="/", env=dict(os.environ, PYTHON=sys.executable))
        self.assertEqual(done.stdout, "hello\n")

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
        for words in ("step-124M-b64-bf16-torch-compile", "gradients-fp8", "resume-cudnn", "graphs-cudnn", "nccl-1",
                      "memory", "start", "ladder-350M", "step-1558M-b64-fp8", "of at most 64 MiB"):
            self.assertIn(words, output)

    def listed(self):
        """Every row of every stage."""
        context = argparse.Namespace(tests=[f"{name}_test" for name in "abcdef"])
        return {stage: rows.of(stage, context) for stage in rows.MAKERS}

    def test_every_row_fits_a_call(self):
        for row in (row for listed in self.listed().values() for row in listed):
            self.assertLessEqual(row.expected_s, 580 - runner.GRACE_S, row.key)
            self.assertLessEqual(row.expected_s, row.limit_s, row.key)

    def test_a_plan_of_28_minutes_begins_with_what_matters_most(self):
        every = [row for listed in self.listed().values() for row in listed]
        chosen = rows.within(every, runner.Results(self.folder), 60 * 28)
        self.assertLessEqual(rows.seconds(chosen), 60 * 28)
        keys = [row.key for row in chosen]
        order = [keys.index(key) for key in ("machine", "test-a_test", "resume", "step-124M-b64-bf16-torch-compile",
                                             "step-124M-b64-bf16-bf16-residual-llmc", "gradients-fp8", "start",
                                             "step-124M-b4-bf16-torch-compile")]
        self.assertEqual(order, sorted(order))

    def test_a_plan_counts_what_is_done_and_passes_over_what_is_too_long(self):
        results = runner.Results(self.folder)
        listed = [rows.Row(key, "title", None, expected_s, stage="s") for key, expected_s in (("a", 5), ("b", 60), ("c", 9))]
        self.assertEqual([row.key for row in rows.within(listed, results, 30)], ["a", "c"])
        results.put("s", "a", {"status": "ok", "seconds": 25})
        self.assertEqual([row.key for row in rows.within(listed, results, 30)], ["a"])

    def test_prints_the_plan(self):
        status, output, _ = self.check("--dry-run", "--minutes", "28", "--build", self.make_build())
        self.assertEqual(status, 0)
        self.assertRegex(output, r"(?m)^  until +\d+:\d\d +100 s  step-124M-b64-bf16-torch-compile ")
        self.assertRegex(output, r"(?m)^\d+ rows do not fit into 28 minutes$")
        self.assertIn("beside llm.c nothing will be measured: no copy of llm.c: pass --llmc DIR", output)

    def test_every_row_has_a_key_of_its_own(self):
        keys = [row.key for listed in self.listed().values() for row in listed]
        self.assertEqual(sorted(set(keys)), sorted(keys))
        for key in keys:
            self.assertRegex(key, r"^[A-Za-z0-9._-]+$")

    def test_every_target_has_a_row_that_it_judges(self):
        every = [row for listed in self.listed().values() for row in listed]
        self.assertEqual(sorted(filter(None, (row.judged for row in every))), sorted(rows.TARGETS))
        for batch in rows.BATCHES["1558M"]:
            for name in ("bf16", "fp8"):
                self.assertIn(f"step-1558M-b{batch}-{name}", [row.key for row in every])

    def test_measures_every_model_and_batch_beside_every_peer(self):
        keys = [row.key for listed in self.listed().values() for row in listed]
        for model in ("tiny", "124M", "350M"):
            self.assertIn(f"ladder-{model}", keys)
            for batch in (1, 4, 16, 64):
                self.assertIn(f"kernels-{model}-b{batch}-bf16", keys)
                for peer in ("torch", "torch-compile"):
                    self.assertIn(f"step-{model}-b{batch}-bf16-{peer}", keys)
        for batch in (1, 4, 16, 64):
            for key in (f"step-124M-b{batch}-bf16-llmc", f"step-124M-b{batch}-bf16-bf16-residual-llmc"):
                self.assertIn(key, keys)


class Stages(InFolder):
    def run_rows(self, listed, limit_s=60.0, tell=lambda row, result: None):
        left = runner.run_rows(lambda: listed, runner.Results(self.folder), argparse.Namespace(), limit_s, tell)
        return len(left), json.loads((self.folder / "results.json").read_text())["stages"]["stage"]

    def await_end(self, pid):
        """A process that was killed takes a moment to end."""
        deadline = time.monotonic() + 20
        while self.is_alive(pid):
            self.assertLess(time.monotonic(), deadline, f"process {pid} lives")
            time.sleep(0.01)

    @staticmethod
    def is_alive(pid):
        try:
            return "(zombie)" not in pathlib.Path(f"/proc/{pid}/status").read_text()
        except FileNotFoundError:
            return False

    @staticmethod
    def row(key, how, expected_s=0.0):
        return rows.Row(key, f"title of {key}", how, expected_s, stage="stage")

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

    def test_a_later_call_asks_again_for_what_was_missing(self):
        def absent(_):
            raise runner.Missing("no llm.c")

        def too_large(_):
            raise runner.DoesNotFit("out of memory")

        self.run_rows([self.row("absent", absent), self.row("large", too_large)])
        _, result = self.run_rows([self.row(key, lambda _: {}) for key in ("absent", "large")])
        self.assertEqual([result[key]["status"] for key in ("absent", "large")], ["ok", "skipped"])

    def test_a_limit_that_is_too_small_is_no_reason_for_another_call(self):
        build = self.make_build()
        status, output, _ = self.check("--stage", "kernels", "--limit", 20, "--build", build)
        self.assertEqual(status, 1)
        self.assertRegex(output, r"0 rows failed, \d+ are left\n\d+ rows are never begun without --limit 55\n")

    def test_begins_no_row_that_has_no_time_left(self):
        left, result = self.run_rows([self.row("long", lambda _: {}, expected_s=100), self.row("short", lambda _: {})])
        self.assertEqual((left, list(result)), (1, ["short"]))

    def test_the_plan_is_asked_again_after_each_row(self):
        results = runner.Results(self.folder)
        listed = [self.row(key, lambda _: {}, expected_s) for key, expected_s in (("slow", 25), ("also", 25), ("long", 60))]
        told = []
        left = runner.run_rows(lambda: rows.within(listed, results, 30), results, argparse.Namespace(), 600,
                               lambda row, _: told.append(row.key))
        self.assertEqual((left, told), ([], ["slow", "also"]))

    def test_a_row_that_dies_with_its_call_is_given_up_after_two(self):
        script = (f"import sys, os; sys.path[:0] = [{str(ROOT / 'tests/bench/gpu_check')!r}, {str(ROOT / 'tests/bench/peers')!r}]\n"
                  "import rows, runner\n"
                  f"results = runner.Results({str(self.folder)!r})\n"
                  "row = rows.Row('dies', 't', lambda c: os._exit(9), 0, stage='stage')\n"
                  "runner.run_rows(lambda: [row], results, type('C', (), {})(), 60)\n")
        for _ in range(2):
            self.assertEqual(subprocess.run([sys.executable, "-c", script], check=False).returncode, 9)
        left, result = self.run_rows([self.row("dies", lambda _: {}), self.row("next", lambda _: {})])
        self.assertEqual((left, result["dies"]["status"], result["next"]["status"]), (0, "failed", "ok"))
        self.assertIn("was ended together with 2 calls", result["dies"]["reason"])

    def test_a_row_that_the_call_ended_has_another_turn(self):
        def last(_):
            raise runner.OutOfTime("gp-bench-cuda took longer than 1 s")

        def row(limit_s):
            return rows.Row("long", "title", last, 0, limit_s, stage="stage")

        told = []
        left, result = self.run_rows([row(limit_s=240)], tell=lambda row, result: told.append(result["status"]))
        self.assertEqual((left, told, result["long"]["status"], result["long"]["attempts"]), (1, ["left"], "started", 1))
        left, result = self.run_rows([row(limit_s=1)])
        self.assertEqual((left, result["long"]["status"]), (0, "failed"))

    def test_a_program_is_ended_when_its_time_is_up(self):
        started = time.monotonic()
        with self.assertRaisesRegex(runner.OutOfTime, "sleep took longer than 0 s"):
            runner.run(["sleep", "30"], 0.05, os.environ)
        self.assertLess(time.monotonic() - started, 10)
        with self.assertRaisesRegex(RuntimeError, "ended with 3: bad luck"):
            runner.run(["sh", "-c", "echo bad luck >&2; exit 3"], 10, os.environ)
        with self.assertRaisesRegex(RuntimeError, "could not be started"):
            runner.run([self.folder / "absent"], 10, os.environ)

    def test_what_a_program_started_ends_with_it(self):
        survivor = self.folder / "survivor"
        peer = f"(sleep 60; touch {survivor}) & echo $! >{self.folder}/pid; "
        for script, expected in ((peer + "wait", runner.OutOfTime), (peer + "exit 1", RuntimeError)):
            started = time.monotonic()
            with self.assertRaises(expected):
                runner.run(["sh", "-c", script], 2, os.environ)
            self.assertLess(time.monotonic() - started, 30, "it waited for what the program had started")
            self.await_end(int((self.folder / "pid").read_text()))

    def test_what_runs_ends_with_a_call_that_is_killed(self):
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        script = (f"import os, sys; sys.path.insert(0, {str(ROOT / 'tests/bench/gpu_check')!r}); import runner\n"
                  f"runner.run(['sh', '-c', 'sleep 60 & echo $$ $! >{fifo}; wait'], 60, os.environ)\n")
        with subprocess.Popen([sys.executable, "-c", script]) as call:
            pids = list(map(int, fifo.read_text().split()))
            call.kill()
        for pid in pids:
            self.await_end(pid)

    def test_a_lack_of_memory_is_told_from_other_failures(self):
        torch = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 12 GiB."
        words = f"Traceback\n{torch}\ngp-bench-cuda: the peer ended early"
        with self.assertRaisesRegex(runner.OutOfMemory, f"^sh: {re.escape(torch)}$"):
            runner.run(["sh", "-c", f"echo '{words}' >&2; exit 1"], 10, os.environ)
        self.assertEqual(runner.run(["sh", "-c", "echo out of memory >&2; echo 5"], 10, os.environ), "5\n")


class TestPrograms(InFolder):
    NO_DEVICE = "no CUDA device: CUDA driver version is insufficient"
    NEEDS_8 = "tensor cores for bf16 need compute capability 8.0"

    @staticmethod
    def case(name, part=""):
        return f'<testcase name="{name}" status="run" result="completed">{part}</testcase>'

    def skipped(self, name, reason):
        place_and_reason = xml.sax.saxutils.quoteattr(f"tests/some_test.cc:5\n{reason}\n", {"\n": "&#x0A;"})
        return self.case(name, f"<skipped message={place_and_reason}/>")

    def outcome(self, cases, status=0, capability="9.0"):
        """What is made of the report of a GoogleTest program."""
        program = self.folder / "some_test"
        document = f'<testsuites name="AllTests"><testsuite name="S">{"".join(cases)}</testsuite></testsuites>'
        program.write_text(f"#!/bin/sh\ncat >\"${{1#--gtest_output=xml:}}\" <<'END'\n{document}\nEND\nexit {status}\n")
        program.chmod(0o755)
        context = argparse.Namespace(scratch=self.folder, timeout=20, environment=os.environ, test=lambda name: self.folder / name)
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

    def test_where_all_are_skipped_something_is_missing(self):
        with self.assertRaisesRegex(runner.Missing, f"every test skipped itself: {self.NO_DEVICE}; is there a GPU"):
            self.outcome([self.skipped("a", self.NO_DEVICE), self.skipped("b", self.NO_DEVICE)])


class Attention(unittest.TestCase):
    def judge(self, attention, cudnn_works):
        missing = None if cudnn_works else runner.Missing("no cuDNN attention: none")
        with unittest.mock.patch.object(engine_runs, "need_cudnn", side_effect=missing):
            return rows.judge_attention({"attention": attention, "notes": ["cudnn: refused the plan"]}, None)

    def test_of_cudnn_is_expected_where_it_works(self):
        self.assertEqual(self.judge("cudnn 91900", True)["attention"], "cudnn 91900")
        self.assertEqual(self.judge("flash", False)["attention"], "flash")
        with self.assertRaisesRegex(RuntimeError, "^attention was computed by flash, not by cuDNN: cudnn: refused the plan$"):
            self.judge("flash", True)


class PlainLaunches(unittest.TestCase):
    def test_are_asked_for_by_the_environment_of_their_row_alone(self):
        seen = []
        context = argparse.Namespace(environment={"PATH": "/bin"})
        with unittest.mock.patch.object(rows, "step", side_effect=lambda *arguments: seen.append(arguments[4].environment)):
            rows.plain_launches_row().how(context)
        self.assertEqual(seen, [{"PATH": "/bin", "GP_EARLY_LAUNCH": "0"}])
        self.assertEqual(context.environment, {"PATH": "/bin"})


class Comparison(unittest.TestCase):
    def compare(self, batch, fits):
        """A comparison on a GPU whose memory holds batches of at most `fits`."""
        def step(_model, batch, *_):
            if batch > fits:
                raise runner.OutOfMemory(f"gp-bench-cuda: no room for {batch}")
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
        self.assertEqual(data["note"], "out of memory at B=64: gp-bench-cuda: no room for 64")

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


class Caches(InFolder):
    def test_go_on_from_the_archive_on_another_machine(self):
        with unittest.mock.patch.dict(os.environ):
            first, second = self.folder / "first/out", self.folder / "second/out"
            caches.unpack(first)
            pathlib.Path(os.environ["XDG_CACHE_HOME"], "tuned").write_text("choices")
            pathlib.Path(os.environ["TORCHINDUCTOR_CACHE_DIR"], "kernel").write_text("code")
            caches.pack(first)
            second.mkdir(parents=True)
            shutil.copy2(first / "cache.tar.gz", second)
            caches.unpack(second)
            self.assertEqual(pathlib.Path(os.environ["XDG_CACHE_HOME"], "tuned").read_text(), "choices")
            self.assertEqual(pathlib.Path(os.environ["TORCHINDUCTOR_CACHE_DIR"], "kernel").read_text(), "code")
            self.assertTrue(pathlib.Path(os.environ["TRITON_CACHE_DIR"]).is_relative_to(second.parent / "out-cache"))


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

    def trainer(self, script):
        """A context whose gp-trainer-cuda is a shell script."""
        program = self.folder / "gp-trainer-cuda"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        return argparse.Namespace(scratch=self.folder, timeout=20, environment=dict(os.environ), support=None,
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


def canned_results():
    """One of everything that a report shows, not measured anywhere."""
    def ok(title, data):
        return {"title": title, "status": "ok", "seconds": 1.0, "data": data}

    gpu = {"name": "NVIDIA Example", "driver_version": "1", "memory.total": "2 MiB", "compute_cap": "9.0", "power.limit": "3 W"}
    step = {"kind": "StepBench", "model": "124M", "batch": 64, "precision": "bf16", "step_ms": TIMES, "forward_ms": 3.0,
            "backward_ms": 6.0, "optimizer_ms": 1.0, "tokens_per_second": 1000.0, "mfu": 0.5, "loss": 10.9, "attention": "cudnn 91900", "notes": []}
    peer = {"description": "torch", "ms": TIMES, "ratio_of_medians": 1.1, "ratio_by_block": TIMES}
    operations = [{"name": "c_fc forward", "shape": "4 x 5", "gflops": 5e5, "of_peak": 0.75, "ms": TIMES, "calls_per_step": 12},
                  {"name": "AdamW", "shape": "9", "gigabytes_per_second": 3000.0, "of_peak": 0.9, "ms": TIMES, "calls_per_step": 1}]
    return {
        "correctness": {
            "machine": ok("m", {"gpu": gpu, "commit": "abc", "torch": "2.11", "python": "3.12", "cores": 16}),
            "test-x": ok("x", {"passed": 7, "skipped": ["a"]}),
            "resume": {"title": "resume", "status": "failed", "reason": "step 3 differs", "seconds": 1.0},
            "graphs": {"title": "graphs", "status": "started", "attempts": 1}},
        "precision": {
            "memory": ok("memory", {"planned_bytes": 32160765184, "engine_bytes": 32160000000}),
            "start": ok("start", {"cold_s": 41.53, "warm_s": 2.25}),
            "gradients-bf16": ok("bf16", {
            "kind": "GradientCheck", "loss": 4.1, "reference_loss": 4.1, "gradient_error": 0.001, "tolerance": 0.01,
            "worst_tensor": "wte", "worst_error": 0.004})},
        "bench-124M": {
            "kernels": ok("k", {"kind": "KernelBench", "model": "124M", "rows": 65536, "precision": "bf16", "operations": operations,
                                "peak_gflops_measured": 7e5, "gigabytes_per_second_measured": 3300.0}),
            "profile": ok("p", {**step, "operations": [{"name": "AdamW", "calls": 1, "ms": 2.5}]}),
            "step-124M-b64-bf16-torch-compile": ok("124M beside torch.compile", {"target": 1.15, "report": {**step, "peer": peer}}),
            "step-124M-b64-bf16-llmc": {
                "title": "124M beside llm.c", "status": "skipped", "reason": "no copy", "seconds": 0.0},
            "step-124M-b16-bf16-torch": ok("124M beside torch", {
                "target": None, "batch": 8, "note": "out of memory at B=16: torch", "report": {**step, "peer": peer}})},
        "bench-1558M": {
            "ladder-124M": ok("l", {"kind": "Ladder", "rungs": [
                {"name": "bf16", "step_ms": TIMES, "tokens_per_second": 5.0, "gain": 2.0, "kept": True},
                {"name": "fp8", "not_climbed": "no fp8 here"}]}),
            "step-1558M-b4-bf16": ok("b", {"target": None, "report": step}),
            "step-1558M-b4-fp8": ok("f", {"target": None, "report": {**step, "step_ms": {**TIMES, "median": 8.0}}})}}


class Report(InFolder):
    def setUp(self):
        super().setUp()
        results = runner.Results(self.folder)
        for stage, found in canned_results().items():
            for key, row in found.items():
                results.put(stage, key, row)
        planned = {stage: [] for stage in rows.MAKERS}
        planned["bench-124M"] = [rows.Row("step-tiny", "tiny", None)]
        self.paths = report.write(results, self.folder / "docs", planned, date="2026-01-01")
        self.text = self.paths[1].read_text()

    def test_is_named_after_the_gpu(self):
        self.assertEqual([path.name for path in self.paths], ["nvidia-example.json", "nvidia-example.md"])
        self.assertEqual(json.loads(self.paths[0].read_text())["kind"], "GpuReport")
        self.assertIn("# NVIDIA Example\n\nMeasured 2026-01-01 by `scripts/gpu_check` at commit abc", self.text)

    def test_shows_what_was_found(self):
        for line in ("| x | ok | 7 passed, 1 skipped |",
                     "| bf16 | ok | loss 4.10000 against 4.10000; gradients differ by 1.0e-03 (allowed 1e-02), most in wte (4.0e-03) |",
                     "| 124M beside torch.compile (cudnn 91900 attention) | 10.00 (9.00–11.00) | 1,000 | 50 % | 10.00 (9.00–11.00) | 1.10 (9.00–11.00) | "
                     "≥ 1.15: short by 4 % |",
                     "| memory | ok | 32.160 GB of 32.161 GB planned |",
                     "| start | ok | first step 41.5 s after a cold start (at most 60), "
                     "2.2 s after a warm one (at most 5) |",
                     "| 124M beside torch; measured at B=8, out of memory at B=16: torch (cudnn 91900 attention) | 10.00",
                     "- FP8 at 1558M, B=4: 1.25 times as fast as bf16 (≥ 1.30: short by 4 %).",
                     "| c_fc forward | 4 x 5 | 10.0000 | 500.0 TFLOP/s | 75 % | 12 | 120.000 |",
                     "| AdamW | 9 | 10.0000 | 3000 GB/s | 90 % | 1 | 10.000 |",
                     "forward 3.00, backward 6.00, optimizer 1.00", "| AdamW | 1 | 2.500 | 100 % |", "| bf16 |  | 10.00 | 5 | 2.00 |  |"):
            self.assertIn(line, self.text)

    def test_says_what_was_not(self):
        for line in ("| resume | failed: step 3 differs |  |", "| graphs | not finished: the call ended while it ran |  |",
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
            report.write(runner.Results(empty), self.folder, {"correctness": []})


if __name__ == "__main__":
    unittest.main()
