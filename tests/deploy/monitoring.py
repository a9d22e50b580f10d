"""Shared by the tests of deploy/: the exported metrics, the dashboards' queries, and access to Prometheus' tools."""

import json
import os
import pathlib
import re
import shutil
import subprocess

SOURCE = pathlib.Path(os.environ["GP_SOURCE"])
BIN = pathlib.Path(os.environ["GP_BIN"])
PROMETHEUS = SOURCE / "deploy/prometheus"
RUNBOOKS = SOURCE / "docs/runbooks"
DASHBOARDS = sorted((SOURCE / "deploy/grafana/dashboards").glob("*.json"))
DAEMONS = ("gp-coordinator", "gp-worker", "gp-gateway")
# Values for the variables that Grafana replaces in queries.
VARIABLES = {"$__rate_interval": "1m", "$run": ".+", "$node": ".+", "$gpu": ".+", "$instance": ".+"}


def missing_tool():
    """Why the tests that need Prometheus cannot run here; empty if they can."""
    absent = [tool for tool in ("prometheus", "promtool") if shutil.which(tool) is None]
    return f"{' and '.join(absent)} not installed: scripts/bootstrap --dev" if absent else ""


def print_metrics(program):
    return subprocess.run([BIN / program, "--print-metrics"], check=True, capture_output=True, text=True).stdout


def exported():
    """The names of all exported series, as they are written in queries."""
    return {line.split("{")[0].split(" ")[0] for program in DAEMONS for line in print_metrics(program).splitlines()
            if line and not line.startswith("#")}


def recorded():
    return set(re.findall(r"- record: (\S+)", (PROMETHEUS / "rules.yml").read_text()))


def names_in(expression):
    """The metrics and recorded series that a query uses."""
    bare = re.sub(r'"[^"]*"', '""', expression)
    return set(re.findall(r"(?:[a-z_]+:)?\b(?:gp|grpc_server)_[a-z_0-9]+(?::[a-z_0-9]+)?", bare))


def panels_of(dashboard):
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


def queries_of(dashboard):
    """(where, query) for every panel and annotation."""
    found = [(f"{panel['title']} {target['refId']}", target["expr"])
             for panel in panels_of(dashboard) for target in panel["targets"]]
    return found + [(note["name"], note["expr"]) for note in dashboard["annotations"]["list"]]


def filled_in(query):
    for name, value in VARIABLES.items():
        query = query.replace(name, value)
    return query


def load(path):
    return json.loads(path.read_text())
