"""Unmodified lm-evaluation-harness scores a model through the gateway; transformers gives the same scores."""

import json
import math
import pathlib
import subprocess
import sys
import tempfile
import unittest

import serving

serving.use_clients_python()

import torch

DOCUMENTS = 24
TOLERANCE = 1e-4

CHOICE_TASK = """
task: gp_choice
dataset_path: json
dataset_kwargs: {{data_files: {{test: "{data}"}}}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{{{question}}}}"
doc_to_choice: choices
doc_to_target: label
target_delimiter: ""
metric_list: [{{metric: acc, aggregation: mean, higher_is_better: true}}]
"""
PERPLEXITY_TASK = """
task: gp_perplexity
dataset_path: json
dataset_kwargs: {{data_files: {{test: "{data}"}}}}
test_split: test
output_type: loglikelihood
doc_to_text: "{{{{question}}}}"
doc_to_target: "{{{{choices[label]}}}}"
metric_list:
  - {{metric: perplexity, aggregation: perplexity, higher_is_better: false}}
  - {{metric: acc, aggregation: mean, higher_is_better: true}}
"""


def make_documents(gateway):
    """Makes questions about words from the project's documents. For some, the right answer is the model's own greedy
    continuation, so that `is_greedy` is true for some."""
    words = (serving.SOURCE / "docs/run-file.md").read_text(encoding="utf-8").split()
    words = [word for word in words if word.isalpha()]
    documents = [{"question": " ".join(words[20 * i:20 * i + 12]),
                  "choices": [" " + " ".join(words[20 * i + 12 + j:20 * i + 14 + j]) for j in range(0, 8, 2)],
                  "label": i % 4} for i in range(DOCUMENTS)]
    for document in documents[::3]:
        answer = gateway.complete(prompt=document["question"], max_tokens=2, temperature=0)
        document["choices"][document["label"]] = answer["choices"][0]["text"].rstrip() or " the"
    return documents


def write_tasks(directory, documents):
    data = pathlib.Path(directory, "documents.jsonl")
    data.write_text("".join(json.dumps(document) + "\n" for document in documents), encoding="utf-8")
    for name, text in (("choice", CHOICE_TASK), ("perplexity", PERPLEXITY_TASK)):
        pathlib.Path(directory, name + ".yaml").write_text(text.format(data=data), encoding="utf-8")


class LmEval(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = cls.enterClassContext(tempfile.TemporaryDirectory(prefix="gp-lm-eval-"))
        checkpoint = serving.newest(serving.train(cls.scratch, "gpt2", "gpt2", steps=60))
        cls.model = serving.transformers_model(checkpoint)
        with serving.Gateway({"gpt2": checkpoint}) as gateway:
            cls.documents = make_documents(gateway)
            write_tasks(cls.scratch, cls.documents)
            cls.ids = {text: gateway.request("POST", "/tokenize", {"prompt": text})[2]["tokens"]
                       for text in cls.all_texts()}
            cls.samples, cls.results = cls.run_harness(gateway)

    @classmethod
    def all_texts(cls):
        for document in cls.documents:
            yield document["question"]
            yield from (document["question"] + choice for choice in document["choices"])

    @classmethod
    def run_harness(cls, gateway):
        """({task: samples}, {task: results})"""
        output = pathlib.Path(cls.scratch, "output")
        settings = (f"model=gpt2,base_url={gateway.url}/v1/completions,tokenizer_backend=remote,"
                    f"tokenized_requests=True,num_concurrent=4,max_length=192")
        done = subprocess.run(
            [sys.executable, "-m", "lm_eval", "--model", "local-completions", "--model_args", settings,
             "--tasks", "gp_choice,gp_perplexity", "--include_path", cls.scratch, "--batch_size", "4",
             "--output_path", output, "--log_samples"],
            check=False, capture_output=True, text=True, env=serving.os.environ | {"HF_HOME": cls.scratch})
        if done.returncode != 0:
            raise AssertionError(f"lm_eval: exit {done.returncode}\n{done.stdout}\n{done.stderr[-6000:]}")
        print(done.stdout)
        samples = {task: [json.loads(line) for path in output.rglob(f"samples_{task}_*.jsonl")
                          for line in path.read_text().splitlines()] for task in ("gp_choice", "gp_perplexity")}
        results = json.loads(next(output.rglob("results_*.json")).read_text())["results"]
        return samples, results

    def expected(self, question, continuation):
        """The log-likelihood of the continuation, and whether it equals the greedy continuation."""
        context, ids = self.ids[question], self.ids[question + continuation]
        with torch.no_grad():
            scores = torch.log_softmax(self.model(torch.tensor([ids])).logits[0].float(), dim=-1)
        span = range(len(context), len(ids))
        return (sum(float(scores[i - 1][ids[i]]) for i in span),
                all(int(scores[i - 1].argmax()) == ids[i] for i in span))

    def assert_scored(self, answer, question, continuation):
        logprob, is_greedy = self.expected(question, continuation)
        self.assertAlmostEqual(float(answer[0]), logprob, delta=TOLERANCE)
        self.assertEqual(str(answer[1]), str(is_greedy))

    def test_every_choice_of_every_document(self):
        self.assertEqual(len(self.samples["gp_choice"]), DOCUMENTS)
        right = 0
        for sample in self.samples["gp_choice"]:
            document = sample["doc"]
            for answer, choice in zip(sample["filtered_resps"], document["choices"], strict=True):
                self.assert_scored(answer, document["question"], choice)
            scores = [self.expected(document["question"], choice)[0] for choice in document["choices"]]
            right += scores.index(max(scores)) == document["label"]
        self.assertAlmostEqual(self.results["gp_choice"]["acc,none"], right / DOCUMENTS)

    def test_the_likelihood_of_every_document(self):
        self.assertEqual(len(self.samples["gp_perplexity"]), DOCUMENTS)
        logprobs, greedy = [], 0
        for sample in self.samples["gp_perplexity"]:
            document = sample["doc"]
            answer = sample["filtered_resps"][0]
            choice = document["choices"][document["label"]]
            self.assert_scored(answer, document["question"], choice)
            logprob, is_greedy = self.expected(document["question"], choice)
            logprobs.append(logprob)
            greedy += is_greedy
        self.assertGreater(greedy, 0)
        self.assertAlmostEqual(self.results["gp_perplexity"]["acc,none"], greedy / DOCUMENTS)
        perplexity = self.results["gp_perplexity"]["perplexity,none"]
        self.assertAlmostEqual(perplexity / math.exp(-sum(logprobs) / len(logprobs)), 1, delta=TOLERANCE)


if __name__ == "__main__":
    unittest.main()
