"""With the same weights, transformers generates the same greedy text with the same probabilities as the gateway and as one-shot
gp-sampler."""

import math
import tempfile
import unittest

import serving

serving.use_clients_python()

import torch

TOKENS = 100
# fp32 sums are computed in a different order.
TOLERANCE = 1e-4
PROMPTS = ["The run file is", "A checkpoint", "of the coordinator, which", "\n\n| key | must be |", "Zürich — naïve 日本"]


def log_softmax(model, ids):
    """Log-softmax of the logits at every position."""
    with torch.no_grad():
        return torch.log_softmax(model(torch.tensor([ids])).logits[0].float(), dim=-1)


def greedy(model, ids, count):
    """The greedy continuation, and the gap to the second-best token at each step."""
    written, gaps, cache, unread = [], [], None, list(ids)
    for _ in range(count):
        with torch.no_grad():
            answer = model(torch.tensor([unread]), past_key_values=cache, use_cache=True)
        cache, best = answer.past_key_values, answer.logits[0, -1].float().topk(2)
        gaps.append(float(best.values[0] - best.values[1]))
        written.append(int(best.indices[0]))
        unread = written[-1:]
    return written, gaps


class Equality(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = cls.enterClassContext(tempfile.TemporaryDirectory(prefix="gp-equal-"))
        runs = {"gpt2": serving.train(cls.scratch, "gpt2", "gpt2", steps=60),
                "bytes": serving.train(cls.scratch, "bytes", "bytes", steps=60, bias=False)}
        cls.checkpoints = {name: serving.newest(run) for name, run in runs.items()}
        cls.models = {name: serving.transformers_model(path) for name, path in cls.checkpoints.items()}
        cls.gateway = cls.enterClassContext(serving.Gateway(cls.checkpoints))

    def ids_of(self, name, text):
        status, _, answer = self.gateway.request("POST", "/tokenize", {"model": name, "prompt": text})
        self.assertEqual(status, 200, answer)
        return answer["tokens"]

    def text_of(self, name, ids):
        return self.gateway.request("POST", "/detokenize", {"model": name, "tokens": ids})[2]["prompt"]

    def each(self, check):
        """Calls check(model name, transformers model, prompt, prompt's ids) for every model and prompt."""
        for name, model in self.models.items():
            for prompt in PROMPTS:
                with self.subTest(model=name, prompt=prompt):
                    check(name, model, prompt, self.ids_of(name, prompt))

    def test_greedy_text(self):
        self.each(self.check_greedy_text_is_equal)

    def check_greedy_text_is_equal(self, name, model, prompt, ids):
        expected, gaps = greedy(model, ids, TOKENS)
        self.assertGreater(min(gaps), TOLERANCE, "a near tie: choose another seed for the model")
        text = self.text_of(name, expected)
        answer = self.gateway.complete(model=name, prompt=prompt, max_tokens=TOKENS, temperature=0,
                                       ignore_eos=True)
        self.assertEqual(answer["choices"][0]["text"], text)
        written = serving.one_shot(self.checkpoints[name], prompt, TOKENS, temperature=0, precision="fp32",
                                   ignore_end_of_text=True)
        self.assertIn(text, written.decode(errors="replace"))

    def test_probabilities_of_what_is_written_and_their_alternatives(self):
        self.each(self.check_written_probabilities_are_equal)

    def check_written_probabilities_are_equal(self, name, model, prompt, ids):
        answer = self.gateway.complete(model=name, prompt=prompt, max_tokens=20, temperature=0, logprobs=5,
                                       ignore_eos=True)
        logprobs = answer["choices"][0]["logprobs"]
        expected, _ = greedy(model, ids, 20)
        scores = log_softmax(model, ids + expected)[len(ids) - 1:-1]
        for i, token in enumerate(expected):
            self.assertAlmostEqual(logprobs["token_logprobs"][i], float(scores[i][token]), delta=TOLERANCE)
            best = [float(value) for value in scores[i].topk(5).values]
            top = sorted(logprobs["top_logprobs"][i].values(), reverse=True)
            # Different byte tokens may have the same text, which the answer then lists only once.
            if len(top) == len(best):
                for ours, theirs in zip(top, best):
                    self.assertAlmostEqual(ours, theirs, delta=TOLERANCE)

    def test_probabilities_of_the_prompt(self):
        self.each(self.check_prompt_probabilities_are_equal)

    def check_prompt_probabilities_are_equal(self, name, model, prompt, ids):
        answer = self.gateway.complete(model=name, prompt=ids, max_tokens=0, echo=True, logprobs=1)
        logprobs = answer["choices"][0]["logprobs"]
        self.assertEqual(answer["choices"][0]["text"], prompt)
        self.assertEqual(len(logprobs["token_logprobs"]), len(ids))
        self.assertIsNone(logprobs["token_logprobs"][0])
        scores = log_softmax(model, ids)
        for i in range(1, len(ids)):
            self.assertAlmostEqual(logprobs["token_logprobs"][i], float(scores[i - 1][ids[i]]), delta=TOLERANCE)

    def test_the_first_token_is_drawn_with_the_model_s_probabilities(self):
        ids = self.ids_of("gpt2", PROMPTS[0])
        model = self.models["gpt2"]
        probabilities = log_softmax(model, ids)[-1].exp()
        best = int(probabilities.argmax())
        answers = [self.gateway.complete(model="gpt2", prompt=ids, max_tokens=1, temperature=1, top_k=0, top_p=1, n=100,
                                         seed=seed, logprobs=0)["choices"] for seed in range(4)]
        drawn = [choice["logprobs"]["tokens"][0] for choices in answers for choice in choices]
        share = drawn.count(self.text_of("gpt2", [best])) / len(drawn)
        expected = float(probabilities[best])
        self.assertAlmostEqual(share, expected, delta=5 * math.sqrt(expected / len(drawn)))


if __name__ == "__main__":
    unittest.main()
