"""gpctl data prepare writes the same files, byte for byte, as the published scripts (tests/bench/peers/prepare_shards.py).

Argument: gpctl. Skipped without the Python environment of scripts/bootstrap --peers.
"""
import filecmp
import os
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ["GP_SOURCE"])
PYTHON = SOURCE / ".deps/peers/bin/python"
PEER = SOURCE / "tests/bench/peers/prepare_shards.py"
ODD_LINES = (b'{"text": "a<|endoftext|>b \\u00e9\\ud83d\\ude00", "id": 1}\n'
             b'{"id": 2, "text": "\\r\\n tabs\\t and   spaces "}\n')


def run(*command):
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE)


def check(gpctl, folder, style, shards, flags):
    peer, ours = folder / "peer" / style, folder / "ours" / style
    ours.parent.mkdir(exist_ok=True)
    run(PYTHON, PEER, "--style", style, "--input", folder / "text.jsonl", "--out", peer, "--shard-tokens", 100_000)
    run(gpctl, "data", "prepare", folder / "text.jsonl", "--out", ours, *flags)
    names = sorted(path.name for path in peer.iterdir())
    assert len(names) == shards, names
    same, different, errors = filecmp.cmpfiles(peer, ours, names, shallow=False)
    assert not different and not errors, (style, different, errors)
    assert sorted(path.name for path in ours.iterdir()) == sorted([*names, "dataset.json"])


def main():
    gpctl = sys.argv[1]
    if not PYTHON.exists():
        print("no Python with tiktoken: scripts/bootstrap --peers")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        text = folder / "text.jsonl"
        run(gpctl, "data", "generate", text, "--bytes", "1500kB")
        text.write_bytes(ODD_LINES + text.read_bytes())
        check(gpctl, folder, "build-nanogpt", 6, ["--format", "npy", "--shard-tokens", "100000", "--val-tokens", "100000"])
        check(gpctl, folder, "nanogpt", 1, ["--format", "nanogpt", "--val-fraction", "0"])


if __name__ == "__main__":
    main()
