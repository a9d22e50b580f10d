"""Finds the libraries that the package does not bring: in the wheels of torch of this Python, which have all of them, and in
the CUDA toolkit."""
import importlib.util
import os
import pathlib

# Each library and the file that the programs load.
NEEDED = {"LibTorch": "libtorch_cpu.so", "CUDA runtime": "libcudart.so.13", "cuBLASLt": "libcublasLt.so.13",
          "cuDNN": "libcudnn.so.9", "NCCL": "libnccl.so.2"}
TOOLKIT = ("/usr/local/cuda/lib64", "/usr/local/cuda/targets/x86_64-linux/lib", "/usr/lib/x86_64-linux-gnu")


def torch_folders():
    """The library folders of the torch that `import torch` would find, without importing it."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return []
    packages = pathlib.Path(spec.origin).parents[1]
    return [packages / "torch/lib", *sorted(packages.glob("nvidia/*/lib"))]


def folders():
    """Library folders in the order of search: torch's, then the toolkit's. The programs find the package's own by their
    RPATH."""
    candidates = [*torch_folders(), *map(pathlib.Path, TOOLKIT)]
    return [folder for folder in candidates if folder.is_dir()]


def found():
    """Path of each needed library, or None."""
    places = folders()
    return {name: next((str(folder / file) for folder in places if (folder / file).exists()), None)
            for name, file in NEEDED.items()}


def search_path():
    """The value of LD_LIBRARY_PATH: torch's and the toolkit's own folders, but no system folder, because the peers inherit
    it."""
    own = [str(folder) for folder in folders() if not str(folder).startswith("/usr/lib")]
    return ":".join(filter(None, [*own, os.environ.get("LD_LIBRARY_PATH")]))


def environment():
    """The environment in which the programs start: this process's, with the search path."""
    return dict(os.environ, LD_LIBRARY_PATH=search_path())


if __name__ == "__main__":
    print(search_path())
