"""Runs the lm_eval command of docs/serving.md unchanged, on rows that are longer than the model's context."""

import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import serving

serving.use_clients_python()

TASKS = {
    "gp_choice": "output_type: multiple_choice\ndoc_to_text: '{{text}}'\ndoc_to_choice: '{{choices}}'\ndoc_to_target: '{{label}}'\n"
                 "metric_list: [{metric: acc}]\n",
    "gp_rolling": "output_type: loglikelihood_rolling\ndoc_to_text: ''\ndoc_to_target: '{{text}}'\n"
                  "metric_list: [{metric: bits_per_byte}]\n",
    "gp_writing": "output_type: generate_until\ndoc_to_text: '{{text}}'\ndoc_to_target: 'x'\n"
                  'generation_kwargs: {until: ["\\n\\n"]}\nmetric_list: [{metric: exact_match}]\n',
}


def write_tasks(folder):
    words = [word for word in serving.training_text(folder).read_text(encoding="utf-8").split() if word.isalpha()]
    rows = [{"text": " ".join(words[:count]), "choices": ["yes", "no"], "label": 0} for count in (5, 60, 400)]
    data = pathlib.Path(folder, "rows.jsonl")
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    for name, settings in TASKS.items():
        pathlib.Path(folder, name + ".yaml").write_text(
            f"task: {name}\ndataset_path: json\ndataset_kwargs: {{data_files: {{test: {data}}}}}\ntest_split: test\n{settings}",
            encoding="utf-8")


def documented_command():
    page = (serving.SOURCE / "docs/serving.md").read_text(encoding="utf-8")
    lines = re.search(r"^    CONTEXT=.*\n(?:    .*\n)+", page, re.MULTILINE)[0]
    return "".join(line.removeprefix("    ") for line in lines.splitlines(keepends=True)).rstrip()


class DocumentedCommand(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = cls.enterClassContext(tempfile.TemporaryDirectory(prefix="gp-lm-eval-"))
        write_tasks(cls.scratch)
        checkpoint = serving.newest(serving.train(cls.scratch, "demo", "gpt2", steps=4))
        cls.models = {"demo": checkpoint}

    def run_command(self, gateway, task, command, **variables):
        programs = pathlib.Path(sys.executable).parent
        environment = serving.os.environ | {"HF_HOME": self.scratch, "PATH": f"{programs}:{serving.os.environ['PATH']}"}
        command = command.replace("http://127.0.0.1:7080", gateway.url).replace("TASK", task)
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", f"{command} --include_path {self.scratch}"], check=False,
                              capture_output=True, text=True, env=environment | variables)
        self.assertEqual(done.returncode, 0, f"{task}: {done.stderr[-3000:]}")
        self.assertIn(task, done.stdout)

    # Case gateway-and-pages/13: the page's command failed on rows longer than the context.
    def test_it_evaluates_every_kind_of_task(self):
        with serving.Gateway(self.models) as gateway:
            for task in TASKS:
                self.run_command(gateway, task, documented_command())

    def test_it_passes_the_key_in_both_places_that_the_page_names(self):
        key = "a-key-of-this-test"
        keys = pathlib.Path(self.scratch, "keys")
        keys.write_text(f"{hashlib.sha256(key.encode()).hexdigest()} tester\n", encoding="utf-8")
        command = documented_command().replace("curl -s", f'curl -s -H "Authorization: Bearer {key}"')
        command = command.replace("model=demo,", f"model=demo,auth_token={key},")
        with serving.Gateway(self.models, "--api-key-file", str(keys)) as gateway:
            self.run_command(gateway, "gp_choice", command, OPENAI_API_KEY=key)


if __name__ == "__main__":
    unittest.main()
