"""The JSON Schemas of configs/schemas are what the programs define, and agree with them about shipped and mutated files."""

import copy
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "client" / "python"))
import python_packages  # noqa: E402

python_packages.continue_there()

import core_yaml  # noqa: E402
import jsonschema  # noqa: E402

SOURCE = python_packages.SOURCE
PROGRAMS = pathlib.Path(os.environ["GP_BIN"])
CONFIGS = SOURCE / "configs"
DAEMONS = {"gp-coordinator": "coordinator", "gp-worker": "worker", "gp-gateway": "gateway"}
MODELINE = re.compile(r"^# yaml-language-server: \$schema=(\S+)$", re.MULTILINE)
MUTATIONS = 200
SETTINGS_MUTATIONS = 70  # for each daemon

VALUES = [
    0,
    1,
    -1,
    3,
    2.5,
    1e-3,
    1e30,
    10**20,
    True,
    False,
    None,
    "",
    [],
    {},
    [1],
    ["a"],
    ["a", ["b"]],
    {"a": 1},
    {"a": [1]},
    "x",
    "auto",
    "2^19",
    "10B",
    "0.5M",
    "1_000",
    "1e3",
    "90s",
    "1h30m",
    "250ms",
    "1d",
    "-5s",
    "a/b",
    "a.json",
    "bytes",
    "cosine",
    "gpu",
    "2^",
    "k",
]

# What a schema can check: keys, types, choices and ranges. Programs also check how values fit together.
OF_ONE_VALUE = re.compile(r"unknown key|must be|has no value|is a group of keys|is a map of keys|is given twice")


def schema_of(name):
    return json.loads((CONFIGS / "schemas" / f"{name}.json").read_text())


def paths_of(schema, path=()):
    """The paths of all keys and groups."""
    for key, inner in schema["properties"].items():
        yield (*path, key)
        if "properties" in inner:
            yield from paths_of(inner, (*path, key))


def mutated(base, path, value):
    tree = copy.deepcopy(base)
    group = tree
    for key in path[:-1]:
        group = group.setdefault(key, {})
    group[path[-1]] = value
    return tree


def misspelt(path):
    return (*path[:-1], path[-1] + "x")


def mutations(base, schema, count, seed):
    """[(path, value, tree)], of which every tenth has an unknown key."""
    chance = random.Random(seed)
    paths = [path for path in paths_of(schema) if path not in (("data",), ("data", "text"))]
    chosen = [(chance.choice(paths), chance.choice(VALUES)) for _ in range(count)]
    chosen = [(misspelt(path) if number % 10 == 0 else path, value) for number, (path, value) in enumerate(chosen)]
    return [(path, value, mutated(base, path, value)) for path, value in chosen]


def is_text_without_quotes(value):
    """gp takes 1, true or [1] as text where text is expected; the run file's schema asks for quotes."""
    value = core_yaml.load(core_yaml.dump(value))
    items = value if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else [value]
    return any(isinstance(item, (bool, int, float)) for item in items)


def is_amount_in_letters(value):
    """2^19, 10B and 250ms are texts for a schema, which cannot compare them with a range."""
    return isinstance(value, str) and re.fullmatch(r"[0-9._]+([kKMBGT]|\^[0-9]+|ms|s|m|h|d)?", value) is not None


class Schemas(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.folder / "text.txt").write_text("a text to train on\n" * 2000)
        self.environment = {**os.environ, "HOME": str(self.folder), "XDG_STATE_HOME": "", "XDG_CONFIG_HOME": ""}

    def run_program(self, *command):
        return subprocess.run(command, cwd=self.folder, env=self.environment, check=False, capture_output=True, text=True)

    def refuses_run_file(self, text):
        """Whether gpctl finds a problem of one value."""
        (self.folder / "run.yaml").write_text(text)
        answer = json.loads(self.run_program(PROGRAMS / "gpctl", "validate", "run.yaml", "-o", "json").stdout)
        return any(OF_ONE_VALUE.search(problem["message"]) for problem in answer.get("problems", []))

    def refuses_settings(self, program, text):
        (self.folder / "settings.yaml").write_text(text)
        done = self.run_program(PROGRAMS / program, "--config", "settings.yaml", "--check-config")
        return any(OF_ONE_VALUE.search(line) for line in done.stderr.splitlines() if line.startswith("error: settings.yaml:"))

    def disagreements(self, base, name, count, refuses):
        """[(path, value, whether the schema takes it)] where schema and program differ, of all mutations."""
        schema = schema_of(name)
        validator = jsonschema.Draft202012Validator(schema)
        found = []
        for path, value, tree in mutations(base, schema, count, seed=name):
            text = core_yaml.dump(tree)
            takes = validator.is_valid(core_yaml.load(text))
            if takes == refuses(text):
                found.append((path, value, takes))
        return found

    def test_they_are_what_the_programs_define(self):
        done = self.run_program(SOURCE / "scripts" / "make_schemas", "--bin", PROGRAMS, "--check")
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in ("run-file", *DAEMONS):
            jsonschema.Draft202012Validator.check_schema(schema_of(name))

    def test_every_shipped_file_names_its_schema_and_fits_it(self):
        files = [*(CONFIGS / "runs").glob("*.yaml"), *(CONFIGS / f"{name}.yaml" for name in DAEMONS.values())]
        self.assertGreaterEqual(len(files), 8)
        for file in files:
            text = file.read_text()
            schema = (file.parent / MODELINE.search(text)[1]).resolve()
            jsonschema.validate(core_yaml.load(text), json.loads(schema.read_text()))

    def test_the_run_files_of_all_presets_fit(self):
        schema = schema_of("run-file")
        for preset in schema["properties"]["preset"]["enum"]:
            text = self.run_program(PROGRAMS / "gpctl", "init", "--preset", preset, "--text", "text.txt").stdout
            jsonschema.validate(core_yaml.load(text), schema)
            whole = "\n".join(re.findall(r"^# (\w+: .*)", text, re.MULTILINE))
            self.assertIn("model", core_yaml.load(whole))
            jsonschema.validate(core_yaml.load(whole), schema)

    def test_mutated_run_files_are_refused_by_both_or_by_none(self):
        base = core_yaml.load((CONFIGS / "runs" / "smoke.yaml").read_text()) | {
            "data": {"text": ["text.txt"], "tokenizer": "bytes"}
        }
        found = self.disagreements(base, "run-file", MUTATIONS, self.refuses_run_file)
        for path, value, takes in found:
            explained = is_amount_in_letters(value) if takes else is_text_without_quotes(value) or value is None
            self.assertTrue(explained, (path, value, f"the schema takes it: {takes}"))
        self.assertLess(len(found), MUTATIONS / 8, found)

    def test_mutated_settings_are_refused_by_both_or_by_none(self):
        for program, name in DAEMONS.items():
            base = core_yaml.load((CONFIGS / f"{name}.yaml").read_text())
            found = self.disagreements(
                base, program, SETTINGS_MUTATIONS, lambda text, program=program: self.refuses_settings(program, text)
            )
            for path, value, takes in found:
                # What the schema refuses, the daemon refuses.
                self.assertTrue(takes and is_amount_in_letters(value), (program, path, value, takes))
            self.assertLess(len(found), SETTINGS_MUTATIONS / 8, found)


if __name__ == "__main__":
    unittest.main()
