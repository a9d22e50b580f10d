"""Clocks and kernels that explain a number, from what nvidia-smi and ncu print."""
import argparse
import os
import unittest
import unittest.mock

import gpu_check_case  # first: it adds the modules' folder to sys.path
import explain
import runner

HEADER = ('"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC",'
          '"Section Name","Metric Name","Metric Unit","Metric Value"')


def call(number, name, nanoseconds, multiprocessors, memory):
    values = {"gpu__time_duration.sum": nanoseconds, "sm__throughput.avg.pct_of_peak_sustained_elapsed": multiprocessors,
              "dram__throughput.avg.pct_of_peak_sustained_elapsed": memory}
    return [f'"{number}","1","gp","host","{name}","1","7","(128,1,1)","(1,1,1)","0","9.0","","{metric}","ns","{value}"'
            for metric, value in values.items()]


class Clocks(unittest.TestCase):
    def test_are_of_the_busy_samples(self):
        found = explain.summarize(explain.parse_samples(
            "1980, 2619, 120.5, 40, 3\n1755, 2619, 690.0, 60, 100\n[N/A], 2619, 690.0, 60, 100\n\n1665, 2619, 699.5, 62, 97\n"))
        self.assertEqual(found["samples"], 2)
        self.assertEqual(found["fields"]["clocks.sm"], {"least": 1665.0, "median": 1710.0})
        self.assertEqual(found["fields"]["power.draw"], {"least": 690.0, "median": 694.75})

    def test_of_an_idle_gpu_are_missing(self):
        with self.assertRaisesRegex(runner.Missing, "none of 1 samples"):
            explain.summarize(explain.parse_samples("1980, 2619, 120.5, 40, 3\n"))


class Kernels(gpu_check_case.InFolder):
    def test_are_summed_by_name_and_sorted_by_time(self):
        lines = ["==PROF== Connected to process 1", HEADER, *call(0, "gemm", "1,000,000", 80, 10), *call(1, "norm<float, 4>", 500000, 20, 90),
                 *call(2, "gemm", 3000000, 60, 30)]
        self.assertEqual(explain.kernels_of("\n".join(lines)), [
            {"name": "gemm", "calls": 2, "ms": 4.0, "sm_percent": 65.0, "dram_percent": 25.0},
            {"name": "norm<float, 4>", "calls": 1, "ms": 0.5, "sm_percent": 20.0, "dram_percent": 90.0}])

    def profile(self, script):
        """What explain.ncu() returns where `script` is ncu; None if there is none."""
        path = self.folder / "ncu"
        if script:
            path.write_text("#!/bin/sh\n" + script)
            path.chmod(0o755)
        context = argparse.Namespace(timeout=20, environment=dict(os.environ))
        with unittest.mock.patch.object(explain.shutil, "which", lambda name: str(path) if script and name == "ncu" else None):
            return explain.ncu(["/bin/true", "step"], context)

    def test_come_from_ncu(self):
        text = "\n".join([HEADER, *call(0, "gemm", 2000, 50, 50)])
        found = self.profile(f"case \"$*\" in *' -- /bin/true step') ;; *) exit 3;; esac\ncat <<'END'\n{text}\nEND\n")
        self.assertEqual([kernel["name"] for kernel in found["kernels"]], ["gemm"])

    def test_are_missing_where_ncu_is_or_may_not_profile(self):
        for script, words in (("", "no ncu"), ("echo ERR_NVGPUCTRPERM\nexit 1\n", "the right to read performance counters"),
                              ("echo no kernels\n", "profiled no kernel")):
            with self.assertRaisesRegex(runner.Missing, words):
                self.profile(script)


if __name__ == "__main__":
    unittest.main()
