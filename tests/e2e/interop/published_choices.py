"""Scores multiple-choice questions as two published programs do. Reimplemented over transformers from their descriptions.

completion   build-nanogpt's hellaswag.py and llm.c: the context is unchanged; " " + ending is encoded separately; scores are
             the sum and the mean of the ending's losses.
harness      lm-evaluation-harness 0.4: the task cleans its texts; context and ending are encoded together; scores are the sum
             of the log-probabilities, and that sum divided by the number of characters of the ending.
Both return, for each item, ([log-probability of each ending], [the same, normalised by length], choice, normalised choice)."""

import re

import torch


def logprobs_behind(model, tokens, scored):
    """Log-probabilities of the last `scored` tokens."""
    with torch.no_grad():
        logits = model(torch.tensor([tokens[:-1]])).logits[0].double()
    scores = torch.log_softmax(logits, dim=-1)
    return [float(scores[i - 1][tokens[i]]) for i in range(len(tokens) - scored, len(tokens))]


def largest(values):
    return max(range(len(values)), key=values.__getitem__)  # the first one if several are equal


def answer(sums, lengths):
    normalized = [value / length for value, length in zip(sums, lengths)]
    return sums, normalized, largest(sums), largest(normalized)


def completion(model, tokenizer, item):
    context = tokenizer.encode(item["ctx"])
    sums, lengths = [], []
    for ending in item["endings"]:
        added = tokenizer.encode(" " + ending)
        sums.append(sum(logprobs_behind(model, context + added, len(added))))
        lengths.append(len(added))
    return answer(sums, lengths)


def preprocess(text):
    text = text.strip()
    text = text.replace(" [title]", ". ")
    text = re.sub("\\[.*?\\]", "", text)
    return text.replace("  ", " ")


def encode_pair(tokenizer, context, continuation):
    spaces = len(context) - len(context.rstrip())
    if spaces > 0:
        continuation = context[-spaces:] + continuation
        context = context[:-spaces]
    whole = tokenizer.encode(context + continuation)
    return whole, len(whole) - len(tokenizer.encode(context))


def harness(model, tokenizer, item):
    context = preprocess(item["activity_label"] + ": " + item["ctx_a"] + " " + item["ctx_b"].capitalize())
    choices = [preprocess(ending) for ending in item["endings"]]
    sums = []
    for choice in choices:
        whole, scored = encode_pair(tokenizer, context, " " + choice)
        sums.append(sum(logprobs_behind(model, whole[-(model.config.n_positions + 1):], scored)))
    return answer(sums, [len(choice) for choice in choices])
