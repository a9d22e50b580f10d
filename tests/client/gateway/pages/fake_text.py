"""Texts of a make-believe model: the more steps it was trained for, the more they read like English."""

import math
import random

STORY = (" Once upon a time there was a hacker who lived in a small machine room at the end of a long corridor."
         " Every night the fans sang, and every night she wrote one more line.\n\n“It is not magic,” she said to the"
         " printer, “it’s only a table that is very large.” The printer did not answer. It had run out of paper in 1987,"
         " and nobody had told it. ☕ So she sat down, opened the file, and began to read the program from the end,"
         " because the end is where the mistakes live.").split(" ")
STORY = [(" " + word) for word in STORY if word]
SYLLABLES = ["th", " e", "an", " o", "ing", " wa", "er", "ou", " s", "re", "li", " t", "ha", "\n", "it", " be"]


# Tokens of a barely trained byte model: parts of characters that end or continue anywhere.
BROKEN = ["bytes:" + "".join(f"\\x{byte:02x}" for byte in part) for part in (
    b"\xff", b"\x80", b"\xc3", b"\xe2", b"\xe2\x80", b"\x99", b"\xf0\x9f", b"\x98\x80", b"\xe0", b"\xed\xa0", b"\xef\xbf", b"\xbd",
    b" \xe2", b"\xa9\xc3", b"\xc0", b"\xf4\x90")]


def pieces(word):
    """The tokens of a word: like GPT-2, splits each character that is not ASCII into pieces of bytes."""
    if word.isascii():
        return [word]
    result, plain = [], ""
    for character in word:
        if character.isascii():
            plain += character
            continue
        if plain:
            result.append(plain)
            plain = ""
        raw = character.encode()
        result += ["bytes:" + "".join(f"\\x{byte:02x}" for byte in part) for part in (raw[:2], raw[2:])]
    return result + ([plain] if plain else [])


def piece_bytes(piece):
    if piece.startswith("bytes:\\x"):
        return bytes(int(digits, 16) for digits in piece[8:].split("\\x"))
    return piece.encode()


def tokens_of(prompt, seed, index, skill, temperature, broken=0.0):
    """Yields (token, logprob, alternatives) without end; the same arguments give the same tokens. `broken`: the share
    of tokens that are not whole characters."""
    seed = seed if temperature > 0 else 0
    source = random.Random(f"{prompt}/{seed}/{index}/{skill:.3f}")
    at = random.Random(f"{prompt}/{seed}").randrange(len(STORY)) + 7 * index if temperature > 0 else 0
    while True:
        if source.random() < 0.25 + 0.75 * skill:
            word, likely = STORY[at % len(STORY)], 0.25 + 0.74 * source.random() * (0.4 + 0.6 * skill)
            at += 1
        else:
            word, likely = source.choice(SYLLABLES if skill < 0.6 else STORY), 0.005 + 0.2 * source.random()
        for piece in [source.choice(BROKEN)] if source.random() < broken else pieces(word):
            others = source.sample(STORY, 5)
            left, top = 1 - likely, {}
            for other in others[:4]:
                left *= source.uniform(0.3, 0.6)
                if other != piece:
                    top[other] = math.log(max(left, 1e-6))
            top[piece] = math.log(likely)
            yield piece, math.log(likely), top
