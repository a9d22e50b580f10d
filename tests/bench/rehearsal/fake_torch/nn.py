"""Stands in for torch.nn: the base class of torch_step.py's models."""
import os
import pathlib
import subprocess
import sys

from torch import Anything

HANGS = {"--channels=128", "--batch=64"}


def __getattr__(_):
    return Anything()


def hang():
    child = subprocess.Popen(["sleep", "300"])
    pathlib.Path(os.environ["HANGING_PEER"]).write_text(f"{os.getppid()} {os.getpid()} {child.pid}\n", encoding="utf-8")
    child.wait()


class Module:
    def to(self, _):
        return self

    def parameters(self):
        return ()

    def __call__(self, *_):
        if "--compile" not in sys.argv and HANGS <= set(sys.argv):
            hang()
        return Anything()
