"""The peer of `gpctl data prepare`: tokenizes a file of JSON lines as the published scripts do, with tiktoken on --procs
processes. build-nanogpt (fineweb.py): the end-of-text token before each document, one sequence cut into .npy shards, the first
for validation. nanoGPT (openwebtext/prepare.py): the token after each document, one train.bin; its split into training and
validation, which the library `datasets` draws, is left out. Prints the seconds from the first document to the last byte."""
import argparse
import json
import multiprocessing
import pathlib
import time

import numpy as np

import tiktoken_encode

ENCODING = None


def begin():
    global ENCODING
    ENCODING = tiktoken_encode.gpt2()


def end_first(line):
    tokens = [ENCODING.eot_token]
    tokens.extend(ENCODING.encode_ordinary(json.loads(line)["text"]))
    return np.array(tokens).astype(np.uint16)


def end_last(line):
    tokens = ENCODING.encode_ordinary(json.loads(line)["text"])
    tokens.append(ENCODING.eot_token)
    return np.array(tokens, dtype=np.uint16)


def shard_name(out, index):
    return out / f"{out.name}_{'val' if index == 0 else 'train'}_{index:06d}"


def build_nanogpt(documents, out, shard_tokens):
    shard = np.empty((shard_tokens,), dtype=np.uint16)
    index = count = 0
    for tokens in documents:
        while count + len(tokens) >= shard_tokens:
            room = shard_tokens - count
            shard[count:] = tokens[:room]
            np.save(shard_name(out, index), shard)
            index, count, tokens = index + 1, 0, tokens[room:]
        shard[count:count + len(tokens)] = tokens
        count += len(tokens)
    if count:
        np.save(shard_name(out, index), shard[:count])


def nanogpt(documents, out):
    with open(out / "train.bin", "wb") as file:
        for tokens in documents:
            file.write(tokens.tobytes())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--style", choices=["build-nanogpt", "nanogpt"], required=True)
    parser.add_argument("--input", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--shard-tokens", type=int, default=10**8)
    parser.add_argument("--procs", type=int, default=multiprocessing.cpu_count())
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True)
    started = time.monotonic()
    with multiprocessing.Pool(arguments.procs, initializer=begin) as pool, open(arguments.input, encoding="utf-8") as lines:
        if arguments.style == "nanogpt":
            nanogpt(pool.imap(end_last, lines, chunksize=16), arguments.out)
        else:
            build_nanogpt(pool.imap(end_first, lines, chunksize=16), arguments.out, arguments.shard_tokens)
    print(f"{time.monotonic() - started:.3f}")


if __name__ == "__main__":
    main()
