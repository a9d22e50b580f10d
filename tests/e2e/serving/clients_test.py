"""openai-python and langchain-openai, unmodified, against the gateway."""

import asyncio
import tempfile
import unittest

import serving

serving.use_clients_python()

import openai
from langchain_openai import OpenAI as LangChainOpenAI

PROMPT = "The run file is"


class Clients(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = cls.enterClassContext(tempfile.TemporaryDirectory(prefix="gp-clients-"))
        run = serving.train(cls.scratch, "gpt2", "gpt2", steps=40, every=20)
        cls.gateway = cls.enterClassContext(serving.Gateway({"gpt2": run}))
        cls.client = openai.OpenAI(base_url=cls.gateway.url + "/v1", api_key="unused", max_retries=0)

    def greedy(self, **settings):
        return self.client.completions.create(
            **({"model": "gpt2", "prompt": PROMPT, "max_tokens": 20, "temperature": 0} | settings))

    def test_models_are_listed(self):
        names = [model.id for model in self.client.models.list()]
        self.assertEqual(names[0], "gpt2")
        self.assertEqual(self.client.models.retrieve("gpt2").object, "model")

    def test_a_completion(self):
        answer = self.greedy()
        self.assertEqual(answer.object, "text_completion")
        self.assertEqual(answer.choices[0].finish_reason, "length")
        self.assertEqual(answer.usage.prompt_tokens + answer.usage.completion_tokens, answer.usage.total_tokens)
        self.assertEqual(answer.usage.completion_tokens, 20)
        self.assertTrue(answer.choices[0].text)

    def test_a_stream_is_the_same_text(self):
        whole = self.greedy().choices[0].text
        pieces, usage, reasons = [], None, []
        for chunk in self.greedy(stream=True, stream_options={"include_usage": True}):
            pieces += [choice.text for choice in chunk.choices]
            reasons += [choice.finish_reason for choice in chunk.choices if choice.finish_reason]
            usage = chunk.usage or usage
        self.assertEqual("".join(pieces), whole)
        self.assertGreater(len(pieces), 2)
        self.assertEqual(reasons, ["length"])
        self.assertEqual(usage.completion_tokens, 20)

    def test_many_at_a_time_asynchronously(self):
        async def all_of_them():
            client = openai.AsyncOpenAI(base_url=self.gateway.url + "/v1", api_key="unused", max_retries=0)
            settings = {"model": "gpt2", "prompt": PROMPT, "max_tokens": 20, "temperature": 0.9}

            async def streamed(seed):
                text = ""
                async for chunk in await client.completions.create(**settings, seed=seed, stream=True):
                    text += chunk.choices[0].text
                return text

            async def whole(seed):
                return (await client.completions.create(**settings, seed=seed)).choices[0].text

            return await asyncio.gather(*(streamed(seed) for seed in range(8)), *(whole(seed) for seed in range(8)))

        texts = asyncio.run(all_of_them())
        self.assertEqual(texts[:8], texts[8:])
        self.assertGreater(len(set(texts)), 4)

    def test_several_prompts_and_several_texts_of_each(self):
        answer = self.greedy(prompt=["One", "Two", "Three"], n=2, temperature=1, seed=3)
        self.assertEqual([choice.index for choice in answer.choices], list(range(6)))

    def test_logprobs(self):
        answer = self.greedy(logprobs=3, max_tokens=5)
        logprobs = answer.choices[0].logprobs
        self.assertEqual("".join(logprobs.tokens), answer.choices[0].text)
        self.assertEqual(len(logprobs.token_logprobs), 5)
        for logprob, top in zip(logprobs.token_logprobs, logprobs.top_logprobs):
            self.assertAlmostEqual(max(top.values()), logprob)

    def test_a_stop_string_is_not_part_of_the_text(self):
        whole = self.greedy().choices[0].text
        stop = whole[len(whole) // 2:][:3]
        cut = self.greedy(stop=[stop]).choices[0]
        self.assertEqual(cut.text, whole[:whole.index(stop)])
        self.assertEqual(cut.finish_reason, "stop")

    def test_errors_become_the_classes_of_the_client(self):
        with self.assertRaises(openai.NotFoundError) as unknown:
            self.greedy(model="nobody")
        self.assertIn("nobody", str(unknown.exception))
        with self.assertRaises(openai.BadRequestError) as too_long:
            self.greedy(prompt="word " * 1000)
        self.assertIn("This model's maximum context length is 192 tokens", str(too_long.exception))
        with self.assertRaises(openai.BadRequestError) as wrong:
            self.greedy(temperature=-1)
        self.assertEqual(wrong.exception.body["param"], "temperature")
        with self.assertRaises(openai.BadRequestError) as chat:
            self.client.chat.completions.create(model="gpt2", messages=[{"role": "user", "content": "hello"}])
        self.assertIn("/v1/completions", str(chat.exception))

    def test_langchain(self):
        model = LangChainOpenAI(base_url=self.gateway.url + "/v1", api_key="unused", model="gpt2", temperature=0,
                                max_tokens=20, max_retries=0)
        whole = self.greedy().choices[0].text
        self.assertEqual(model.invoke(PROMPT), whole)
        self.assertEqual("".join(model.stream(PROMPT)), whole)
        self.assertEqual(model.batch([PROMPT, PROMPT]), [whole, whole])

    def test_langchain_with_its_defaults(self):
        # By default, LangChain requests 256 tokens, more than the context.
        model = LangChainOpenAI(base_url=self.gateway.url + "/v1", api_key="unused", model="gpt2", max_retries=0)
        self.assertTrue(model.invoke(PROMPT))


if __name__ == "__main__":
    unittest.main()
