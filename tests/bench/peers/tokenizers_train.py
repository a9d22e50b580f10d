"""The peer of `gp-peer-bench tokenizer --learn`: Hugging Face's trainer of byte-level BPE. One repetition learns --vocabulary tokens
from a text, on --threads threads."""
import argparse
import os
import pathlib

import protocol


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--text", type=pathlib.Path, required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--vocabulary", type=int, required=True)
    arguments = parser.parse_args()
    os.environ["RAYON_NUM_THREADS"] = str(arguments.threads)
    os.environ["TOKENIZERS_PARALLELISM"] = "true" if arguments.threads > 1 else "false"
    import tokenizers
    from tokenizers import models, pre_tokenizers, trainers

    # The text is passed line by line: the trainer would count one large piece on one thread only.
    lines = arguments.text.read_text(encoding="utf-8").splitlines(keepends=True)

    def learn():
        tokenizer = tokenizers.Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        trainer = trainers.BpeTrainer(
            vocab_size=arguments.vocabulary, min_frequency=2, special_tokens=["<|endoftext|>"], show_progress=False,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
        tokenizer.train_from_iterator(lines, trainer)

    protocol.serve(f"tokenizers {tokenizers.__version__}, {arguments.threads} threads", learn)


if __name__ == "__main__":
    main()
