"""The report depends on nothing but the results."""
import json
import re
import tempfile
import unittest

import gpu_check_case  # first: it adds the modules' folder to sys.path
import report
import rows
import runner

TIMES = {"median": 10.0, "quartile_1": 9.0, "quartile_3": 11.0}


def canned_results():
    """One example of everything that a report shows; the numbers are made up."""
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
            "kind": "GradientCheck", "loss": 4.1, "reference_loss": 4.1, "gradient_error": 0.001, "tolerance": 0.015,
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
        "headline-details": {
            "clocks": ok("c", {"kind": "Clocks", "samples": 9, "fields": {"clocks.sm": {"least": 1665.0, "median": 1710.5}}}),
            "ncu": ok("n", {"kind": "KernelProfile", "kernels": [
                {"name": "gemm<128, 256>", "calls": 24, "ms": 8.25, "sm_percent": 81.4, "dram_percent": 12.0}]})},
        "sampling": {
            "sample-124M-b8-bf16": ok("s", {"kind": "SampleBench", "model": "124M", "batch": 8, "precision": "bf16", "step_ms": TIMES,
                                            "step_tokens_per_second": 20000.0, "tokens_per_second": 18000.0,
                                            "roofline": {"tokens_per_second": 80000.0, "share": 0.25}})},
        "bench-1558M": {
            "ladder-124M": ok("l", {"kind": "Ladder", "rungs": [
                {"name": "bf16", "step_ms": TIMES, "tokens_per_second": 5.0, "gain": 2.0, "kept": True},
                {"name": "fp8", "not_climbed": "no fp8 here"}]}),
            "step-1558M-b4-bf16": ok("b", {"target": None, "report": step}),
            "step-1558M-b4-fp8": ok("f", {"target": None, "report": {**step, "step_ms": {**TIMES, "median": 8.0}}})}}


class Report(gpu_check_case.InFolder):
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
                     "| bf16 | ok | loss 4.10000 against 4.10000; gradients differ by 1.0e-03 (allowed 1.5e-02), most in wte (4.0e-03) |",
                     "| 124M beside torch.compile (cudnn 91900 attention) | 10.00 (9.00–11.00) | 1,000 | 50 % | torch | 10.00 (9.00–11.00) | 1.10 (9.00–11.00) | "
                     "≥ 1.15: short by 4 % |",
                     "| memory | ok | 32.160 GB of 32.161 GB planned |",
                     "| start | ok | first step 41.5 s after a cold start (at most 60), "
                     "2.2 s after a warm one (at most 5) |",
                     "| 124M beside torch; measured at B=8, out of memory at B=16: torch (cudnn 91900 attention) | 10.00",
                     "- FP8 at 1558M, B=4: 1.25 times as fast as bf16 (≥ 1.30: short by 4 %).",
                     "| c_fc forward | 4 x 5 | 10.0000 | 500.0 TFLOP/s | 75 % | 12 | 120.000 |",
                     "| AdamW | 9 | 10.0000 | 3000 GB/s | 90 % | 1 | 10.000 |",
                     "| clocks.sm | 1710.5 | 1665 |", "| `gemm<128, 256>` | 24 | 8.250 | 81 % | 12 % |",
                     "| 124M, 8 texts, bf16 | 10.00 (9.00–11.00) | 20,000 | 18,000 | 80,000 | 25 % |",
                     "forward 3.00, backward 6.00, optimizer 1.00", "| AdamW | 1 | 2.500 | 100 % |", "| bf16 |  | 10.00 | 5 | 2.00 |  |"):
            self.assertIn(line, self.text)

    def test_says_what_was_not(self):
        for line in ("| resume | failed: step 3 differs |  |", "| graphs | not finished: the call ended while it ran |  |",
                     "not measured: skipped: no copy", "not measured: no fp8 here", "not measured: skipped: not run"):
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
