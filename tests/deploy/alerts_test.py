#!/usr/bin/env python3
"""promtool checks and tests the recording rules and alerts; they use only metrics that the programs export, and each alert has
a runbook."""

import re
import subprocess
import unittest

import monitoring
from monitoring import PROMETHEUS, RUNBOOKS, SOURCE

ALERTS = (PROMETHEUS / "alerts.yml").read_text()
TESTS = SOURCE / "tests/deploy/rules_test.yml"
# Prometheus itself creates this series for every target.
OF_PROMETHEUS = {"up"}


def alerts():
    """{name: text} of the alerts."""
    parts = re.split(r"^      - alert: (\S+)\n", ALERTS, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def expression_of(text):
    return re.search(r"expr: (.*?)\n        (?:for|labels):", text, re.DOTALL).group(1)


class Alerts(unittest.TestCase):
    def promtool(self, *arguments):
        if monitoring.missing_tool():
            self.skipTest(monitoring.missing_tool())
        result = subprocess.run(["promtool", *arguments], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_the_configuration_and_the_rules_pass_promtools_check(self):
        self.promtool("check", "config", str(PROMETHEUS / "prometheus.yml"))
        self.promtool("check", "rules", "--lint=all", "--lint-fatal", str(PROMETHEUS / "rules.yml"),
                      str(PROMETHEUS / "alerts.yml"))

    def test_the_rules_do_what_their_tests_say(self):
        self.promtool("test", "rules", str(TESTS))

    def test_every_alert_is_seen_firing(self):
        fired = set(re.findall(r"alertname: (\S+)\n\s+exp_alerts:\n", TESTS.read_text()))
        self.assertEqual(fired, set(alerts()))

    def test_name_only_metrics_that_are_exported_or_recorded(self):
        known = monitoring.exported() | monitoring.recorded()
        for name, text in alerts().items():
            names = monitoring.names_in(expression_of(text))
            self.assertTrue(names or "up{" in text, name)
            self.assertLessEqual(names, known, name)
        for metric in monitoring.names_in((PROMETHEUS / "rules.yml").read_text()):
            self.assertIn(metric, known)

    def test_say_how_bad_what_and_what_to_type_next(self):
        for name, text in alerts().items():
            self.assertRegex(text, r"labels: \{severity: (critical|warning)\}", name)
            self.assertRegex(text, r'summary: ".*\{\{ \$(labels|value)', name)
            self.assertRegex(text, r'description: ".*(Run \'|Look at )', name)
            if "run" in re.findall(r"\$labels\.(\w+)", text):
                self.assertIn("run {{ $labels.run }}", text, name)

    def test_each_has_its_runbook_and_each_runbook_its_alert(self):
        for name, text in alerts().items():
            self.assertIn(f"runbook_url: docs/runbooks/{name}.md", text)
        pages = {path.stem for path in RUNBOOKS.glob("*.md")} - {"README"}
        self.assertEqual(pages, set(alerts()))
        index = (RUNBOOKS / "README.md").read_text()
        for name in pages:
            self.assertIn(f"- [{name}]({name}.md)\n", index)
            text = (RUNBOOKS / f"{name}.md").read_text()
            for heading in (f"# {name}", "## What it means", "## What to look at", "## What to do"):
                self.assertIn(f"{heading}\n", text, name)

    def test_runbooks_name_only_settings_that_exist(self):
        run_file = (SOURCE / "docs/run-file.md").read_text()
        settings = "".join(path.read_text() for path in sorted((SOURCE / "configs").glob("*.yaml")))
        for path in RUNBOOKS.glob("*.md"):
            for key in re.findall(r"`([a-z]+\.[a-z_]+)`", path.read_text()):
                section, name = key.split(".")
                of_daemon = re.search(rf"^{section}:\n(?:(?:  .*)?\n)*?  {name}:", settings, re.MULTILINE)
                self.assertTrue(f"`{key}`" in run_file or of_daemon or name in ("log", "yaml"), f"{path.name}: {key}")


if __name__ == "__main__":
    unittest.main()
