"""How a peer talks to gp-peer-bench over pipes: it prints {"ready": description}; then each line N on its input asks for N
repetitions and is answered by {"ms": [...]}. What libraries print meanwhile goes to stderr."""
import json
import os
import sys
import time


def add_step_arguments(parser):
    """The flags that gp-peer-bench step passes to every peer."""
    for name in ("layers", "heads", "channels", "context", "vocabulary", "batch", "sequence", "threads"):
        parser.add_argument("--" + name, type=int, required=True)
    parser.add_argument("--bias", type=lambda text: bool(int(text)), default=True)
    parser.add_argument("--gelu", choices=("erf", "tanh"), default="tanh")
    parser.add_argument("--precision", choices=("fp32", "tf32", "bf16", "fp16"), default="fp32")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")


def serve(description, once=None, times_itself=False, many=None):
    """Answers requests until the input ends. `once` does the work once; with `times_itself` it returns its milliseconds.
    `many(count)`, if given, does the work `count` times instead and returns the milliseconds of each time."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    print(json.dumps({"ready": description}), file=answers)
    for line in sys.stdin:
        durations = many(int(line)) if many else []
        for _ in range(0 if many else int(line)):
            start = time.perf_counter()
            result = once()
            durations.append(result if times_itself else 1e3 * (time.perf_counter() - start))
        print(json.dumps({"ms": durations}), file=answers)
