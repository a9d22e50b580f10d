"""The peer of `gp-peer-bench allreduce`: torch.distributed's Gloo back end between processes of this machine.

This process is rank 0 and starts the others. Durations begin at a barrier and are those of the slowest rank.
"""
import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time

import torch
import torch.distributed as dist

import protocol


def join(arguments, rank):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method="file://" + arguments.store, rank=rank, world_size=arguments.ranks)
    return torch.ones(arguments.elements)


def tell(go_on):
    """Rank 0 sends whether another all-reduce follows; every rank returns it."""
    word = torch.tensor([int(go_on)])
    dist.broadcast(word, 0)
    return bool(word.item())


def timed_all_reduce(values):
    dist.barrier()
    start = time.perf_counter()
    dist.all_reduce(values)
    elapsed = torch.tensor([1e3 * (time.perf_counter() - start)], dtype=torch.float64)
    dist.all_reduce(elapsed, op=dist.ReduceOp.MAX)
    values.fill_(1)
    return elapsed.item()


def serve_as_rank(arguments):
    values = join(arguments, arguments.rank)
    try:
        while tell(False):
            timed_all_reduce(values)
    except RuntimeError:
        pass  # rank 0 was ended, which is how gp-peer-bench stops a peer


def lead(arguments):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # removes the directory and the ranks
    with tempfile.TemporaryDirectory() as directory:
        arguments.store = os.path.join(directory, "store")
        others = [subprocess.Popen([sys.executable, __file__, f"--ranks={arguments.ranks}", f"--rank={rank}",
                                    f"--elements={arguments.elements}", f"--store={arguments.store}"],
                                   stdin=subprocess.DEVNULL)
                  for rank in range(1, arguments.ranks)]
        values = join(arguments, 0)

        def once():
            tell(True)
            return timed_all_reduce(values)

        try:
            protocol.serve(f"torch {torch.__version__} distributed, Gloo, {arguments.ranks} processes", once,
                           times_itself=True)
            tell(False)
            for other in others:
                other.wait()
        finally:
            for other in others:
                other.kill()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--elements", type=int, required=True)
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument("--store")
    arguments = parser.parse_args()
    if arguments.rank == 0:
        lead(arguments)
    else:
        serve_as_rank(arguments)


if __name__ == "__main__":
    main()
