#!/usr/bin/env python3
"""Dashboards and alerts: fresh from their generator, well formed, and about metrics that the programs export."""

import json
import os
import pathlib
import re
import subprocess
import unittest

SOURCE = pathlib.Path(os.environ["GP_SOURCE"])
BIN = pathlib.Path(os.environ["GP_BIN"])
DASHBOARDS = sorted((SOURCE / "deploy/grafana/dashboards").glob("*.json"))


def exported():
    names = set()
    for program in ("gp-coordinator", "gp-worker"):
        text = subprocess.run([BIN / program, "--print-metrics"], check=True, capture_output=True, text=True).stdout
        names |= {line.split("{")[0].split(" ")[0] for line in text.splitlines() if line and not line.startswith("#")}
    return names


def metrics_of(expression):
    return set(re.findall(r"\bgp_[a-z_0-9]+", expression))


def panels_of(dashboard):
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


class Dashboards(unittest.TestCase):
    def test_are_what_the_generator_writes(self):
        result = subprocess.run([SOURCE / "scripts/make_dashboards", "--check"], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_name_only_metrics_that_are_exported(self):
        names = exported()
        for path in DASHBOARDS:
            dashboard = json.loads(path.read_text())
            queries = [target["expr"] for panel in panels_of(dashboard) for target in panel["targets"]]
            queries += [v["query"] for v in dashboard["templating"]["list"] if v["type"] == "query"]
            for query in queries:
                for metric in metrics_of(query):
                    self.assertIn(metric, names, f"{path.name}: {query}")

    def test_alerts_name_only_metrics_that_are_exported(self):
        names = exported()
        for expression in re.findall(r"expr: (.*)", (SOURCE / "deploy/prometheus/alerts.yml").read_text()):
            for metric in metrics_of(expression):
                self.assertIn(metric, names)

    def test_every_panel_says_what_it_shows_where_it_comes_from_and_in_which_unit(self):
        for path in DASHBOARDS:
            dashboard = json.loads(path.read_text())
            self.assertTrue(dashboard["uid"].startswith("gp-"))
            for panel in panels_of(dashboard):
                self.assertTrue(panel["title"] and panel["description"], path.name)
                self.assertTrue(panel["fieldConfig"]["defaults"]["unit"], panel["title"])
                self.assertEqual(panel["datasource"]["uid"], "$datasource")

    def test_panels_have_their_own_place(self):
        for path in DASHBOARDS:
            taken = {}
            for panel in json.loads(path.read_text())["panels"]:
                place = panel["gridPos"]
                self.assertLessEqual(place["x"] + place["w"], 24)
                for x in range(place["x"], place["x"] + place["w"]):
                    for y in range(place["y"], place["y"] + place["h"]):
                        self.assertNotIn((x, y), taken, f"{path.name}: {panel['title']}")
                        taken[x, y] = panel["title"]

    def test_rates_follow_the_scrape_interval(self):
        for path in DASHBOARDS:
            for window in re.findall(r"\[([^\]]+)\]", " ".join(re.findall(r'"expr": "(.*)"', path.read_text()))):
                self.assertEqual(window, "$__rate_interval")


if __name__ == "__main__":
    unittest.main()
