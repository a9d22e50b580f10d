"""gpctl data prepare, killed repeatedly with SIGKILL, writes the same shards as an undisturbed preparation.

prepare_kill_test.py GPCTL [--bytes 24MB] [--kills 10] [--folder DIR]

Prints the times of the kills. They are drawn from --seed (default: the time) within the duration of the undisturbed one.
"""
import argparse
import filecmp
import pathlib
import random
import subprocess
import sys
import tempfile
import time


def command(gpctl, text, out):
    return [gpctl, "data", "prepare", str(text), "--out", str(out), "--format", "npy", "--shard-tokens", "2000000"]


def killed(words, seconds):
    """Runs the command and kills it after `seconds`; false if it ended before."""
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return True
        assert process.returncode == 0, process.stderr.read().decode()
        return False


def files(folder):
    return sorted(path.name for path in folder.iterdir())


def check(arguments, folder):
    chance = random.Random(arguments.seed)
    text = folder / "text.jsonl"
    subprocess.run([arguments.gpctl, "data", "generate", str(text), "--bytes", arguments.bytes], check=True)
    # Both folders have the same last name, because it is part of the shards' names.
    whole, broken = folder / "whole" / "data", folder / "broken" / "data"
    began = time.monotonic()
    subprocess.run(command(arguments.gpctl, text, whole), check=True)
    seconds = time.monotonic() - began
    kills = 0
    for _ in range(arguments.kills):
        moment = chance.uniform(0, 2 * seconds / arguments.kills)
        if not killed(command(arguments.gpctl, text, broken), moment):
            break
        kills += 1
        print(f"killed after {moment:.2f} s")
    if not (broken / "dataset.json").exists():
        subprocess.run(command(arguments.gpctl, text, broken), check=True)
    names = files(whole)
    assert files(broken) == names, (files(broken), names)
    _, different, errors = filecmp.cmpfiles(whole, broken, names, shallow=False)
    assert not different and not errors, (different, errors)
    print(f"killed {kills} times; {len(names)} files, the same bytes as in {seconds:.1f} s without")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("gpctl")
    parser.add_argument("--bytes", default="24MB")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--folder", type=pathlib.Path)
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}")
    sys.stdout.flush()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        check(arguments, pathlib.Path(name))


if __name__ == "__main__":
    main()
