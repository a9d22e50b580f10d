#!/usr/bin/env python3
"""docs/operations/metrics.md matches what the daemons print, and promtool reports no problem in their metrics."""

import subprocess
import unittest

import monitoring
from monitoring import BIN, DAEMONS, SOURCE


class MetricsPage(unittest.TestCase):
    def test_is_what_the_daemons_print(self):
        result = subprocess.run([SOURCE / "scripts/make_metrics_page", "--bin", BIN, "--check"], capture_output=True,
                                text=True)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_names_and_units_are_as_prometheus_wants_them(self):
        if monitoring.missing_tool():
            self.skipTest(monitoring.missing_tool())
        for program in DAEMONS:
            result = subprocess.run(["promtool", "check", "metrics"], input=monitoring.print_metrics(program),
                                    capture_output=True, text=True)
            self.assertEqual(result.returncode, 0, program + ": " + result.stdout + result.stderr)

    def test_every_program_says_its_version_in_the_same_form(self):
        for program in DAEMONS:
            component = program.removeprefix("gp-")
            self.assertRegex(monitoring.print_metrics(program),
                             rf'gp_build_info\{{component="{component}",version="[0-9.]+"\}} 1\n')


if __name__ == "__main__":
    unittest.main()
