"""GPT-2's encoding gives the same ids as tiktoken on difficult texts.

tiktoken_test.py DRIVER [MEGABYTES [SEED]]
"""

import array
import pathlib
import subprocess
import sys
import tempfile

import hostile_text

hostile_text.use_peers_python()

import tiktoken  # noqa: E402
import tiktoken.load  # noqa: E402
import tiktoken_ext.openai_public  # noqa: E402

PART_BYTES = 1 << 20


def gpt2():
    directory = next(hostile_text.SOURCE.glob(hostile_text.GPT2_FILES))
    ranks = tiktoken.load.data_gym_to_mergeable_bpe_ranks(
        vocab_bpe_file=str(directory / "vocab.bpe"), encoder_json_file=str(directory / "encoder.json"))
    return tiktoken.Encoding("gpt2", pat_str=tiktoken_ext.openai_public.r50k_pat_str, mergeable_ranks=ranks,
                             special_tokens={"<|endoftext|>": 50256})


def first_difference(ours, theirs, encoding):
    at = next((i for i, pair in enumerate(zip(ours, theirs)) if pair[0] != pair[1]), min(len(ours), len(theirs)))
    return f"token {at}: {encoding.decode_bytes(list(ours[at:at + 8]))} here, {encoding.decode_bytes(theirs[at:at + 8])} there"


def main():
    driver = sys.argv[1]
    parts = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    encoding = gpt2()
    size = tokens = differences = 0
    with tempfile.TemporaryDirectory(prefix="gp-tiktoken-") as directory:
        path = pathlib.Path(directory, "text")
        for part in range(parts):
            text = hostile_text.hostile_text(seed + part, PART_BYTES)
            path.write_bytes(text.encode())
            ours = array.array("i", subprocess.run([driver, "encode", "gpt2", path], check=True, capture_output=True).stdout)
            theirs = encoding.encode_ordinary(text)
            size += path.stat().st_size
            tokens += len(theirs)
            if list(ours) != theirs:
                differences += 1
                print(f"seed {seed + part}: {first_difference(ours, theirs, encoding)}")
    print(f"{size} bytes, {tokens} tokens, {differences} of {parts} parts differ from tiktoken {tiktoken.__version__}")
    return 1 if differences else 0


sys.exit(main())
