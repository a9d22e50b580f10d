"""Every command that takes a run or a checkpoint answers a wrong reference in the same way: with what is wrong, and what
to type instead.

Usage: run_references_test.py FAKE_TRAINER. Starts a service of its own in a temporary home and stops it again.
"""
import os
import shutil
import subprocess
import sys
import tempfile

GPCTL = os.path.join(os.environ["GP_BIN"], "gpctl")
RUN_FILE = """apiVersion: gp/v1
name: tiny
model: {n_layer: 1, n_head: 1, n_embd: 16, n_ctx: 16}
data: {text: [input.txt]}
batch: {micro_batch: 1, sequence: 16}
budget: {steps: 20}
checkpoint: {every: 10}
"""
OF_RUNS = [
    ["status", "{}"], ["why", "{}"], ["events", "{}"], ["logs", "{}"], ["metrics", "{}"], ["watch", "{}", "--plain"],
    ["wait", "{}", "--longest", "5s"], ["lineage", "{}"], ["pause", "{}"], ["resume", "{}"],
    ["extend", "{}", "--steps", "+10"], ["restart", "{}"], ["retry", "{}"], ["cancel", "{}"], ["delete", "{}", "--yes"],
    ["label", "{}", "a=b"], ["note", "{}", "text"], ["plot", "{}"], ["compare", "{}", "tiny"], ["compare", "tiny", "{}"],
    ["tensorboard", "{}"], ["sink", "wandb", "{}"], ["sink", "mlflow", "{}", "--to", "http://127.0.0.1:1"],
    ["du", "{}"], ["ckpt", "list", "{}"], ["ckpt", "prune", "{}", "--keep-last", "1"],
]
OF_CHECKPOINTS = [
    ["ckpt", "show", "{}"], ["ckpt", "verify", "{}"], ["ckpt", "pin", "{}"], ["ckpt", "unpin", "{}"],
    ["ckpt", "get", "{}", "out"], ["fork", "{}"], ["sample", "{}", "-p", "a"], ["eval", "{}", "--task", "val"],
    ["export", "{}", "out", "--format", "hf"], ["serve", "{}"], ["chat", "{}"],
]


def gpctl(*arguments, check=True):
    return subprocess.run([GPCTL, *arguments], check=check, capture_output=True, text=True, timeout=120,
                          stdin=subprocess.DEVNULL)


class Faults:
    """What is wrong with the answers; all of it is told at the end."""

    def __init__(self):
        self.texts = []

    def expect(self, command, reference, parts, codes=(3,)):
        words = [word.format(reference) for word in command]
        done = gpctl(*words, check=False)
        missing = [part for part in parts if part not in done.stderr]
        if missing or done.returncode not in codes or not done.stderr.startswith("error: ") or done.stdout:
            self.texts.append(f"gpctl {' '.join(words)}: code {done.returncode}, without {missing}:\n"
                              f"  {done.stdout}{done.stderr}")


def check_all():
    faults = Faults()
    for command in OF_RUNS + OF_CHECKPOINTS:
        faults.expect(command, "tinny", ["run 'tinny' does not exist; did you mean 'tiny'?"])
        faults.expect(command, "nothing-like-it", ["run 'nothing-like-it' does not exist", "gpctl list -a"])
        faults.expect(command, "shared", ["several namespaces have a run 'shared'", "name one with its namespace",
                                          "one/shared is ", "two/shared is "])
    for command in OF_RUNS:
        faults.expect(command, "tiny@best", ["'tiny@best' names a checkpoint; expected a run, such as 'tiny'"])
        faults.expect(command, "../tiny", ["'../tiny'", "expected a name, an id, or NAMESPACE/NAME", "gpctl list -a"])
    for command in OF_CHECKPOINTS:
        faults.expect(command, "tiny@5", ["tiny", "no sealed checkpoint of step 5", "it has steps 10, 20"])
        faults.expect(command, "tiny@soon", ["'tiny@soon': after '@' expected a step, best or latest"], codes=(2,))
        if command[:2] in (["ckpt", "show"], ["ckpt", "pin"], ["ckpt", "unpin"]):
            faults.expect(command, "../tiny", ["'../tiny' is a directory; ", "RUN@STEP"], codes=(2,))
        else:
            faults.expect(command, "../tiny", [os.path.abspath("../tiny") + ": there is no such directory; expected a"])
    return faults.texts


def main():
    home = tempfile.mkdtemp(prefix="gpctl-references-")
    os.environ.update(HOME=home)
    os.environ["PATH"] = os.pathsep.join([os.environ["GP_BIN"], home, os.environ["PATH"]])
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "GPCTL_SERVER", "GPCTL_STATE_DIR"):
        os.environ.pop(name, None)
    os.chdir(home)
    try:
        with open("tensorboard", "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n")
        os.chmod("tensorboard", 0o700)
        with open("run.yaml", "w", encoding="utf-8") as file:
            file.write(RUN_FILE)
        with open("input.txt", "w", encoding="utf-8") as file:
            file.write("the quick brown fox\n" * 2000)
        gpctl("up", "--detach", "--workers", "1", "--trainer", os.path.abspath(TRAINER))
        gpctl("submit", "run.yaml")
        gpctl("wait", "tiny", "--longest", "120s")
        for namespace in ("one", "two"):
            gpctl("submit", "run.yaml", "--namespace", namespace, "--name", "shared")
        faults = check_all()
    finally:
        gpctl("down", check=False)
        os.chdir("/")
        shutil.rmtree(home)
    print("\n".join(faults) if faults else "run references ok")
    return 1 if faults else 0


TRAINER = os.path.abspath(sys.argv[1])

if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.CalledProcessError as error:
        print(error.stdout, error.stderr, file=sys.stderr)
        raise
