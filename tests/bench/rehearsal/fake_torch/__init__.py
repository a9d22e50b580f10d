"""Stands in for PyTorch when gpu_check is rehearsed: defines the names that torch_step.py uses, and computes nothing.

torch.compile writes the path of the first program that called it into Inductor's cache. Without torch.compile, a step of 'tiny'
at B=64 hangs together with a child process. Writes both process ids and that of gp-peer-bench into the FIFO $HANGING_PEER.
"""
import os
import pathlib
import sys

__version__ = "2.11.0+cu130"


class Anything:
    """Stands for a tensor, an optimizer or a context: every call, attribute and item of it is the object itself."""

    def __call__(self, *_, **__):
        return self

    def __getattr__(self, _):
        return self

    def __getitem__(self, _):
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


def __getattr__(_):
    return Anything()


def compile(model):
    entry = pathlib.Path(os.environ["TORCHINDUCTOR_CACHE_DIR"]) / "compiled"
    if not entry.exists():
        entry.write_text(sys.argv[0], encoding="utf-8")
    return model


class cuda:
    class Event:
        def __init__(self, enable_timing):
            pass

        def record(self):
            pass

        def elapsed_time(self, _):
            return 0.01

    @staticmethod
    def synchronize():
        pass

    @staticmethod
    def get_device_name():
        return "Emulated GPU"


import torch.nn  # noqa: E402
