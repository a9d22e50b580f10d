"""Where a machine keeps the libraries that the package does not bring: found through its Python, whose torch has them all, and
in the CUDA toolkit."""
import importlib.util
import os
import pathlib

# The first file of each row is what the programs load.
NEEDED = {"LibTorch": "libtorch_cpu.so", "CUDA runtime": "libcudart.so.13", "cuBLASLt": "libcublasLt.so.13",
          "cuDNN": "libcudnn.so.9", "NCCL": "libnccl.so.2"}
TOOLKIT = ("/usr/local/cuda/lib64", "/usr/local/cuda/targets/x86_64-linux/lib", "/usr/lib/x86_64-linux-gnu")


def torch_folders():
    """Those of the torch that `import torch` would find, without importing it."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return []
    packages = pathlib.Path(spec.origin).parents[1]
    return [packages / "torch/lib", *sorted(packages.glob("nvidia/*/lib"))]


def folders(root):
    """Library folders in the order of search: the package's own, torch's, the toolkit's."""
    candidates = [root / "lib", *torch_folders(), *map(pathlib.Path, TOOLKIT)]
    return [folder for folder in candidates if folder.is_dir()]


def found(root):
    """Path of each needed library, or None."""
    places = folders(root)
    return {name: next((str(folder / file) for folder in places if (folder / file).exists()), None)
            for name, file in NEEDED.items()}


def environment(root):
    """This process's environment in which the programs start."""
    path = ":".join([str(folder) for folder in folders(root)] + os.environ.get("LD_LIBRARY_PATH", "").split(":"))
    return dict(os.environ, LD_LIBRARY_PATH=path.rstrip(":"))
