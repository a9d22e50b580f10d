#!/usr/bin/env python3
"""Dashboards: up to date with their generator, well formed, and using only metrics that the programs export."""

import json
import re
import subprocess
import tempfile
import unittest

import monitoring
from monitoring import DASHBOARDS, SOURCE, load, panels_of, queries_of


class Dashboards(unittest.TestCase):
    def test_are_what_the_generator_writes(self):
        result = subprocess.run([SOURCE / "scripts/make_dashboards", "--check"], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_name_only_metrics_that_are_exported_or_recorded(self):
        known = monitoring.exported() | monitoring.recorded()
        for path in DASHBOARDS:
            dashboard = load(path)
            queries = [query for _, query in queries_of(dashboard)]
            queries += [v["query"] for v in dashboard["templating"]["list"] if v["type"] == "query"]
            for query in queries:
                names = monitoring.names_in(query)
                self.assertTrue(names, f"{path.name}: no metric in {query}")
                self.assertLessEqual(names, known, f"{path.name}: {query}")

    def test_every_query_parses(self):
        if monitoring.missing_tool():
            self.skipTest(monitoring.missing_tool())
        rules = [{"record": "parsed:by:promtool", "labels": {"where": f"{path.stem} {where}"},
                  "expr": monitoring.filled_in(query)}
                 for path in DASHBOARDS for where, query in queries_of(load(path))]
        with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
            json.dump({"groups": [{"name": "panels", "rules": rules}]}, file)  # JSON is YAML
            file.flush()
            result = subprocess.run(["promtool", "check", "rules", "--lint=none", file.name], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn(f"{len(rules)} rules found", result.stdout)

    def test_every_panel_says_what_it_shows_where_it_comes_from_and_in_which_unit(self):
        for path in DASHBOARDS:
            dashboard = load(path)
            self.assertEqual(dashboard["uid"], f"gp-{path.stem}")
            self.assertFalse(dashboard["editable"])
            for panel in panels_of(dashboard):
                self.assertTrue(panel["title"] and panel["description"].endswith("."), f"{path.name}: {panel['title']}")
                self.assertTrue(panel["fieldConfig"]["defaults"]["unit"], panel["title"])
                self.assertEqual(panel["datasource"]["uid"], "$datasource")

    def test_ids_and_titles_are_unique(self):
        uids = [load(path)["uid"] for path in DASHBOARDS]
        self.assertEqual(len(uids), len(set(uids)))
        for path in DASHBOARDS:
            ids = [panel["id"] for panel in load(path)["panels"]]
            self.assertEqual(len(ids), len(set(ids)), path.name)

    def test_panels_have_their_own_place(self):
        for path in DASHBOARDS:
            taken = {}
            for panel in load(path)["panels"]:
                place = panel["gridPos"]
                self.assertLessEqual(place["x"] + place["w"], 24)
                for x in range(place["x"], place["x"] + place["w"]):
                    for y in range(place["y"], place["y"] + place["h"]):
                        self.assertNotIn((x, y), taken, f"{path.name}: {panel['title']}")
                        taken[x, y] = panel["title"]

    def test_rates_follow_the_scrape_interval(self):
        for path in DASHBOARDS:
            for _, query in queries_of(load(path)):
                for window in re.findall(r"\[([^\]]+)\]", query):
                    self.assertEqual(window, "$__rate_interval")

    def test_variables_annotations_and_links_are_there(self):
        expected = {"fleet": {"datasource", "node", "gpu", "gateway", "runbooks"},
                    "run": {"datasource", "run", "node", "gateway", "runbooks"},
                    "gateway": {"datasource", "instance", "gateway", "runbooks"}}
        for path in DASHBOARDS:
            dashboard = load(path)
            self.assertEqual({v["name"] for v in dashboard["templating"]["list"]}, expected[path.stem])
            self.assertIn("${gateway}/runs", [link.get("url") for link in dashboard["links"]])
            if path.stem != "gateway":
                self.assertEqual([note["name"] for note in dashboard["annotations"]["list"]],
                                 ["Failure", "Checkpoint"])

    def test_links_to_runbooks_lead_to_pages(self):
        for path in DASHBOARDS:
            dashboard = load(path)
            links = dashboard["links"] + [link for panel in panels_of(dashboard) for link in panel.get("links", [])]
            for name in re.findall(r"\$\{runbooks\}/(\S+)", " ".join(link.get("url", "") for link in links)):
                self.assertTrue((monitoring.RUNBOOKS / name).exists(), f"{path.name}: {name}")


if __name__ == "__main__":
    unittest.main()
