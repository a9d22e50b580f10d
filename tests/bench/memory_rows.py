"""The row of the trainer's memory: the peak of a whole run of gp-trainer, including its last checkpoint."""
import json
import os
import pathlib
import subprocess
import tempfile
import threading

import layout

TIMEOUT = 600  # seconds


def run_file(options):
    """GPT-2 124M on one rank, 4 x 64 tokens a step in fp32, no copies for a save. JSON is YAML too."""
    return json.dumps({
        "apiVersion": "gp/v1", "name": "peak", "preset": "gpt2-124m", "model": {"pad_vocab_to": 50304},
        "data": {"text": [str(options.text)], "tokenizer": "chars", "order": "random", "val_fraction": 0.1},
        "resources": {"workers": 1, "threads": 2, "device": "cpu"},
        "batch": {"micro_batch": 4, "sequence": 64, "total_tokens": 256},
        "budget": {"steps": 2 if options.quick else 10}, "precision": "fp32", "eval": {"every": 0, "batches": 1},
        "sample": {"every": 0}, "checkpoint": {"every": 0, "snapshot_memory": 0}})


def peak_resident_bytes(command):
    """Runs a program to its end and returns its peak resident memory. If it fails, raises RuntimeError with the end of its
    output."""
    with tempfile.TemporaryFile("w+") as words:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=words, stderr=words)
        deadline = threading.Timer(TIMEOUT, process.kill)
        deadline.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:  # run_table is being ended, so the program must end, too
            process.kill()
            process.wait()
            raise
        finally:
            deadline.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            words.seek(0)
            raise RuntimeError(f"{pathlib.Path(command[0]).name} ended with {process.returncode}: {words.read()[-300:].strip()}")
    return usage.ru_maxrss * 1024


def trainer(options):
    """Measures the trainer's peak several times, because it depends on when threads start."""
    with tempfile.TemporaryDirectory() as scratch:
        spec = pathlib.Path(scratch) / "run.yaml"
        spec.write_text(run_file(options), encoding="utf-8")
        peaks = [peak_resident_bytes([str(layout.program("gp-trainer")), "--spec", str(spec), "--out", f"{scratch}/out-{i}"]) / 1e9
                 for i in range(1 if options.quick else 3)]
    return {"unit": "GB", "ours": [sorted(peaks)[len(peaks) // 2], min(peaks), max(peaks)]}
