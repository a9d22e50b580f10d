#!/usr/bin/env python3
"""Goal: the table says what was measured, what is missing and by how much a target is missed; the gate passes at 0.7."""
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import engine_rows
import gate
import layout
import machine
import memory_rows
import published
import run_table

sys.path.insert(0, str(layout.PEERS))
import llmc_gpu_step  # noqa: E402: found on the path above


def row(ratio, target=2.0, **more):
    return {"work": "a step", "peer_name": "torch", "target": target, "unit": "ms", "ours": [10, 9, 11],
            "peer": [10 * ratio, 9, 30], "peer_is": "torch 2", "ratio": ratio, "spread": [ratio - 0.1, ratio + 0.1],
            "date": "2026-01-01", **more}


class Table(unittest.TestCase):
    def test_tells_whether_a_target_is_met(self):
        self.assertEqual(published.verdict(row(2.0)), "met")
        self.assertEqual(published.verdict(row(1.5)), "short by 25 %")

    def test_judges_a_recipe_by_its_loss_too(self):
        good = row(3.0, seeds=3, validation_loss={"ours": 1.905, "peer": 1.9})
        self.assertTrue(published.verdict(good).startswith("met; loss 1.9050"))
        bad = row(3.0, seeds=3, validation_loss={"ours": 1.92, "peer": 1.9})
        self.assertIn("loss too high", published.verdict(bad))
        self.assertNotIn("met", published.verdict(bad))
        unjudged = published.verdict(row(3.0, seeds=1, validation_loss={"ours": 1.905, "peer": 1.9}))
        self.assertTrue(unjudged.endswith("1 seed, not judged"))
        self.assertNotIn("met", unjudged)

    def test_judges_memory_by_its_highest_peak(self):
        memory = {"work": "memory", "peer_name": None, "target": 2.6, "unit": "GB", "ours": [2.5, 2.4, 2.6]}
        self.assertEqual(published.cells(memory)[1:], ["2.50 GB (2.40–2.60)", "–", "–", "≤ 2.6 GB", "met"])
        self.assertEqual(published.verdict({**memory, "ours": [2.5, 2.4, 2.86]}), "over by 10 %")

    def test_says_why_a_row_was_not_measured(self):
        def absent(_):
            raise engine_rows.Missing("no copy of llm.c")

        measured = run_table.measure("a step", "llm.c", 5.0, absent, None)
        self.assertIn("not measured: no copy of llm.c", published.line(measured))
        self.assertIn("–", published.line(measured))

    def test_publishes_what_can_be_read_back(self):
        document = {"machine": "a machine", "text": "t", "rows": {"x": row(3.0)}}
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.object(layout, "PUBLISHED", pathlib.Path(folder)), \
                unittest.mock.patch.object(layout, "ROOT", pathlib.Path(folder)):
            self.assertEqual(published.write("m", document), ["m.json", "m.md"])
            self.assertEqual(published.read("m"), document)
            self.assertIsNone(published.read("other"))
            self.assertIn("| a step / torch | 10 ms (9–11) |", (pathlib.Path(folder) / "m.md").read_text(encoding="utf-8"))

    def test_puts_new_rows_beside_those_that_were_published(self):
        earlier = {"rows": {"c": row(3.0), "a": row(1.0), "gone": row(9.0)}}
        together = published.merged({"b": row(2.0), "a": row(1.5), "c": {"failed": "no steps"}}, earlier, ["a", "b", "c"])
        self.assertEqual(together, {"a": row(1.5), "b": row(2.0), "c": row(3.0)})
        self.assertEqual(published.merged({"c": {"failed": "no steps"}}, None, ["c"]), {"c": {"failed": "no steps"}})

    def test_dates_a_table_by_its_rows(self):
        document = {"machine": "m", "text": "t", "rows": {"x": row(3.0), "y": row(3.0, date="2026-02-01"), "z": row(3.0)}}
        self.assertIn("Measured 2026-01-01 to 2026-02-01 by", published.markdown(document))

    def test_measures_the_memory_of_a_program(self):
        megabyte = 1 << 20
        hungry = [sys.executable, "-c", f"b'x' * {200 * megabyte}"]
        self.assertGreater(memory_rows.peak_resident_bytes(hungry), 200 * megabyte)
        self.assertLess(memory_rows.peak_resident_bytes([sys.executable, "-c", ""]), 200 * megabyte)
        with self.assertRaisesRegex(RuntimeError, "ended with 1: .*bad luck"):
            memory_rows.peak_resident_bytes([sys.executable, "-c", "raise SystemExit('bad luck')"])

    def test_names_this_machine(self):
        self.assertRegex(machine.slug(), r"^[a-z0-9-]+-cores$")


class Protocol(unittest.TestCase):
    def ask(self, program):
        """What a peer answers to one repetition."""
        done = subprocess.run([sys.executable, "-c", "import protocol\n" + program], input="1\n", cwd=layout.PEERS,
                              capture_output=True, text=True, timeout=60, check=True)
        return json.loads(done.stdout.splitlines()[1])["ms"]

    def test_does_not_take_a_result_for_a_duration(self):
        self.assertNotEqual(self.ask("protocol.serve('x', lambda: 1e9)"), [1e9])
        self.assertEqual(self.ask("protocol.serve('x', lambda: 7.5, times_itself=True)"), [7.5])
        self.assertEqual(self.ask("protocol.serve('x', many=lambda count: [2.5] * count)"), [2.5])


class LlmcOnGpu(unittest.TestCase):
    def test_reads_the_milliseconds_of_each_step(self):
        output = ("val loss 11.0\n"
                  "step    1/2 | loss 11.009 (+nanz)| norm 22.1 (+nanz)| lr 1.00e-04 | 431.93 ms | 12.3% bf16 MFU | 151 tok/s\n"
                  "step    2/2 | loss 10.9 (+nanz)| norm 2.1 (+nanz)| lr 1.00e-04 | 140.02 ms | 37.1% bf16 MFU | 468 tok/s\n")
        self.assertEqual(llmc_gpu_step.milliseconds_of(output), [431.93, 140.02])

    def test_passes_a_location_to_cuda_13_and_changes_nothing_else(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "llmc/cuda_utils.cuh"
            file.parent.mkdir()
            file.write_text("a(); f(cudaMemAdvise(*out, bytes, cudaMemAdviseSetPreferredLocation, cudaCpuDeviceId)); b();")
            llmc_gpu_step.adapt_to_cuda_13(pathlib.Path(folder))
            self.assertEqual(file.read_text(), "a(); f(cudaMemAdvise(*out, bytes, cudaMemAdviseSetPreferredLocation, "
                             "cudaMemLocation{cudaMemLocationTypeHost, 0})); b();")

    def test_writes_tokens_as_llm_c_reads_them(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "train.bin"
            llmc_gpu_step.write_tokens(path, 100, 50257)
            data = path.read_bytes()
            self.assertEqual(len(data), 1024 + 200)
            self.assertEqual(struct.unpack("<3i", data[:12]), (20240520, 1, 100))
            self.assertLess(max(struct.unpack("<100H", data[1024:])), 50257)


class Gate(unittest.TestCase):
    def test_passes_at_seven_tenths_of_what_was_published(self):
        self.assertTrue(gate.check("x", 2.0, row(1.4))[1])
        self.assertFalse(gate.check("x", 2.0, row(1.39))[1])
        self.assertFalse(gate.check("x", 2.0, {"failed": "no steps"})[1])

    def test_knows_its_rows(self):
        self.assertLessEqual(set(gate.ROWS), {key for key, *_ in run_table.ROWS})


if __name__ == "__main__":
    unittest.main()
