#!/usr/bin/env python3
"""Writes gpt2_tiktoken.json: texts, and the ids to which tiktoken (PyPI, 0.14.0) encodes them with GPT-2's vocabulary.

make_golden.py DIRECTORY > gpt2_tiktoken.json      DIRECTORY holds vocab.bpe and encoder.json

Reads the vocabulary from there, because tiktoken would download its own copy. RULE below is the pattern of its r50k_base.
"""

import json
import pathlib
import random
import sys

import tiktoken
from tiktoken.load import data_gym_to_mergeable_bpe_ranks

RULE = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"""

WRITTEN = [
    "The quick brown fox jumps over the lazy dog. It wasn't there; they'd've gone, I'm sure, we'll see.",
    "THEY'RE SHOUTING: DON'T! 'tis the season, o'clock, rock'n'roll ''double'' 's 't 'LL",
    "int main(int argc, char** argv) {\n\tfor (size_t i = 0; i < n; ++i) sum += a[i] * 0x1p-3f;\n\n    return 0;\n}\n",
    "def f(x):\n    if x == 1:\n        return {'a': [1, 2, 3]}\n\n\n    # ---------------\n    return None",
    "<html lang=\"en\"><p>&nbsp;text</p></html>\r\n\r\n<|endoftext|> <|endoftext|",
    "    four\n        eight\n\t\ttabs\n \n  \n   mixed \t \n end   ",
    " " * 100, "\n" * 70, "\t" * 33 + "x", "-" * 130, "=" * 1000, "a" * 300, "ab" * 200, " a" * 90, "1" * 257,
    "Größe, naïve café, Ærøskøbing, Łódź, Dvořák, İstanbul, ﬁne, Ångström",
    "Съешь ещё этих мягких французских булок, да выпей чаю.",
    "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία", "דג סקרן שט בים מאוכזב", "نص حكيم له سر قاطع وذو شأن عظيم",
    "我能吞下玻璃而不伤身体。「引用」，《书名》", "いろはにほへと　ちりぬるを、ｶﾀｶﾅ", "키스의 고유조건은 입술끼리 만나야 하고",
    "ऋषियों को सताने वाले दुष्ट राक्षसों", "เป็นมนุษย์สุดประเสริฐเลิศคุณค่า", "Tiếng Việt: Phở bò",
    "👍🏽 👩‍👩‍👧‍👦 🇩🇪🇫🇷 ☃️ 𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𐍈 𓀀 𛀀 🫠", "x² + y₃ = ½·π ≈ 1,570 796 ٣٤٥ Ⅷ ๑๒ 𝟘𝟙",
    "a\u00a0b\u2003c\u3000d\u200be\ufefff\u180eg\u0085h\u2028i\u2029j\u1680k", "\u00a0\u00a0x \u3000 y\u2009\u2009",
    "\x00\x01\x1b[0m\x7f\x1c\x1d\x1e\x1f\x0b\x0c", "e\u0301 a\u0308\u0323 \u0301 \u0301x",
    "http://example.org/a_b?c=d&e=%20#f user@example.org C:\\Users\\x ../..", "3.14159e-10 1,000,000 0xDEADBEEF 12:34:56",
    "ñ", " ", "\n", "", "é ", " é", "\u3000", "'", "''s", "'s's", " 's", "\t's", "1's2's",
]

PIECES = [" ", "  ", "\n", "\t", "\r\n", "'s", "'ll", "'VE", "'", "a", "Z", "word", " the", "é", "ß", "中", "日本", "한국", "😀", "👍🏽", "٣",
          "½", "\u00a0", "\u3000", "\u2028", "\u0085", "\u180e", "\x1c", "\x00", "0", "123", "_", "--", "====", "//", "{}", "ा",
          "हि", "ไท", "\u200b", "ǅ", "Ⅷ", "𝔸", "𝟘", "\u0301", "\U000323af", "\U0001e4d0"]


def mixtures(count):
    source = random.Random(20260101)
    for _ in range(count):
        yield "".join(source.choice(PIECES) * source.choice((1, 1, 1, 1, 2, 9)) for _ in range(source.randrange(2, 24)))


def main():
    directory = pathlib.Path(sys.argv[1])
    ranks = data_gym_to_mergeable_bpe_ranks(str(directory / "vocab.bpe"), str(directory / "encoder.json"))
    encoding = tiktoken.Encoding("gpt2", pat_str=RULE, mergeable_ranks=ranks, special_tokens={"<|endoftext|>": 50256})
    cases = [{"text": text, "tokens": encoding.encode_ordinary(text)} for text in [*WRITTEN, *mixtures(150)]]
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    print(f'{{"tiktoken":"{tiktoken.__version__}","cases":[\n{lines}\n]}}')


main()
