"""scripts/gpu_check lists what it would do, and what fits into a given number of minutes."""
import argparse
import re
import unittest

import gpu_check_case  # first: it adds the modules' folder to sys.path
import rows
import runner


class DryRun(gpu_check_case.InFolder):
    def test_lists_every_stage_and_its_rows_and_sizes(self):
        status, output, _ = self.check("--dry-run", "--minutes", "100", "--build", self.make_build())
        self.assertEqual(status, 0)
        for stage in rows.STAGES:
            self.assertRegex(output, rf"(?m)^{stage}:")
        for words in ("step-124M-b64-bf16-torch-compile", "gradients-fp8", "resume-cudnn", "graphs-cudnn", "nccl-1",
                      "memory", "start", "ladder-350M", "step-1558M-b64-fp8", "of at most 64 MiB"):
            self.assertIn(words, output)

    def listed(self):
        """{stage: rows} for all stages."""
        context = argparse.Namespace(tests=[f"{name}_test" for name in "abcdef"])
        return {stage: rows.of(stage, context) for stage in rows.MAKERS}

    def test_every_row_fits_a_call(self):
        for row in (row for listed in self.listed().values() for row in listed):
            self.assertLessEqual(row.expected_s, 580 - runner.GRACE_S, row.key)
            self.assertLessEqual(row.expected_s, row.limit_s, row.key)

    def test_begins_with_the_headline_and_ends_within_24_minutes(self):
        status, output, _ = self.check("--dry-run", "--build", self.make_build())
        self.assertEqual(status, 0)
        planned = re.findall(r"(?m)^  until +(\d+):(\d\d) +(\d+) s  (\S+)", output)
        minutes, seconds, expected, first = planned[0]
        self.assertEqual((minutes, seconds, expected, first), ("2", "00", "120", "step-124M-b64-bf16-torch-compile"))
        self.assertLessEqual(sum(int(expected) for _, _, expected, _ in planned), 24 * 60)
        self.assertIn(f"in all: {len(planned)} rows, about {planned[-1][0]}:{planned[-1][1]} minutes\n", output)
        keys = [key for _, _, _, key in planned]
        order = [keys.index(key) for key in ("machine", "test-kernels_test", "resume", "step-124M-b64-bf16-bf16-residual-llmc",
                                             "gradients-fp8", "start", "sample-124M-b8-bf16", "step-124M-b64-bf16-own-attention",
                                             "step-124M-b4-bf16-torch-compile", "step-124M-b1-bf16-torch-compile",
                                             "step-124M-b4-bf16-bf16-residual-llmc", "step-1558M-b4-bf16", "ladder-124M")]
        self.assertEqual(order, sorted(order))
        for late in ("step-124M-b16-fp32", "step-124M-b16-tf32", "step-124M-b16-fp8", "step-1558M-b4-fp8", "kernels-124M-b64-fp8"):
            self.assertNotIn(late, keys)

    def test_takes_every_row_of_a_stage_that_is_asked_for(self):
        _, output, _ = self.check("--dry-run", *(f"--stage={stage}" for stage in rows.MAKERS), "--build", self.make_build())
        for listed in self.listed().values():
            for row in (row for row in listed if not row.key.startswith("test-")):
                self.assertIn(f" {row.key} ", output)

    def test_a_plan_counts_what_is_done_and_passes_over_what_is_too_long(self):
        results = runner.Results(self.folder)
        listed = [rows.Row(key, "title", None, expected_s, stage="s") for key, expected_s in (("a", 5), ("b", 60), ("c", 9))]
        self.assertEqual([row.key for row in rows.within(listed, results, 30)], ["a", "c"])
        results.put("s", "a", {"status": "ok", "seconds": 25})
        self.assertEqual([row.key for row in rows.within(listed, results, 30)], ["a"])

    def test_prints_the_plan(self):
        status, output, _ = self.check("--dry-run", "--minutes", "12", "--build", self.make_build())
        self.assertEqual(status, 0)
        self.assertRegex(output, r"(?m)^  until +\d+:\d\d +100 s  llmc-build ")
        self.assertRegex(output, r"(?m)^\d+ rows do not fit into 12 minutes$")
        self.assertIn("llm.c will not be measured: no copy of llm.c: pass --llmc DIR", output)

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


if __name__ == "__main__":
    unittest.main()
