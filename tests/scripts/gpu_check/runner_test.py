"""Each row is run once, continues after a kill, and ends the processes that it started."""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import unittest
import unittest.mock

import gpu_check_case  # first: it adds the modules' folder to sys.path
import machine_facts
import rows
import runner


class Stages(gpu_check_case.InFolder):
    def run_rows(self, listed, limit_s=60.0, tell=lambda row, result: None):
        left = runner.run_rows(lambda: listed, runner.Results(self.folder), argparse.Namespace(), limit_s, tell)
        return len(left), json.loads((self.folder / "results.json").read_text())["stages"]["stage"]

    def await_end(self, pid):
        """Waits for the end of a killed process, which takes a moment."""
        deadline = time.monotonic() + 60
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
        script = (f"import sys, os; sys.path[:0] = [{str(gpu_check_case.ROOT / 'tests/bench/gpu_check')!r}, {str(gpu_check_case.ROOT / 'tests/bench/peers')!r}]\n"
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
            raise runner.OutOfTime("gp-peer-bench-cuda took longer than 1 s")

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
            runner.run(["sleep", "600"], 0.05, os.environ)
        self.assertLess(time.monotonic() - started, 300)
        with self.assertRaisesRegex(RuntimeError, "ended with 3: bad luck"):
            runner.run(["sh", "-c", "echo bad luck >&2; exit 3"], 100, os.environ)
        with self.assertRaisesRegex(RuntimeError, "could not be started"):
            runner.run([self.folder / "absent"], 100, os.environ)

    def test_what_a_program_started_ends_with_it(self):
        survivor = self.folder / "survivor"
        peer = f"(sleep 600; touch {survivor}) & echo $! >{self.folder}/pid; "
        for script, limit, expected in ((peer + "wait", 3, runner.OutOfTime), (peer + "exit 1", 100, RuntimeError)):
            started = time.monotonic()
            with self.assertRaises(expected):
                runner.run(["sh", "-c", script], limit, os.environ)
            self.assertLess(time.monotonic() - started, 300, "it waited for what the program had started")
            self.await_end(int((self.folder / "pid").read_text()))

    def test_what_runs_ends_with_a_call_that_is_killed(self):
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        script = (f"import os, sys; sys.path.insert(0, {str(gpu_check_case.ROOT / 'tests/bench/gpu_check')!r}); import runner\n"
                  f"runner.run(['sh', '-c', 'sleep 60 & echo $$ $! >{fifo}; wait'], 60, os.environ)\n")
        with subprocess.Popen([sys.executable, "-c", script]) as call:
            pids = list(map(int, fifo.read_text().split()))
            call.kill()
        for pid in pids:
            self.await_end(pid)

    def test_a_lack_of_memory_is_told_from_other_failures(self):
        torch = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 12 GiB."
        words = f"Traceback\n{torch}\ngp-peer-bench-cuda: the peer ended early"
        with self.assertRaisesRegex(runner.OutOfMemory, f"^sh: {re.escape(torch)}$"):
            runner.run(["sh", "-c", f"echo '{words}' >&2; exit 1"], 100, os.environ)
        self.assertEqual(runner.run(["sh", "-c", "echo out of memory >&2; echo 5"], 100, os.environ), "5\n")

    def test_a_gpu_that_is_too_old_for_a_row_does_not_fail_it(self):
        words = "fp8 needs compute capability 8.9, A card has 8.0; use precision: bf16"
        command = ["sh", "-c", f"echo '{words}' >&2; exit 1"]
        row = self.row("fp8", lambda _: runner.run(command, 100, os.environ))
        for capability, status in (("8.0", "skipped"), ("9.0", "failed")):
            with unittest.mock.patch.object(machine_facts, "gpu", return_value={"compute_cap": capability}):
                result = runner.measure(row, argparse.Namespace(), time.monotonic() + 60)
            self.assertEqual(result["status"], status)
            self.assertIn(words, result["reason"])


if __name__ == "__main__":
    unittest.main()
