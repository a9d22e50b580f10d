"""The packages of W&B and MLflow: which versions are used, and what to install without them."""

from __future__ import annotations

import importlib
import importlib.metadata
import typing

from gp.errors import IncompatibleVersion

# The first version that was tested, and the one that is refused because its interface may be another.
_RANGES = {"wandb": ((0, 20), (1, 0)), "mlflow": ((2, 22), (4, 0))}


def load(package: str) -> typing.Any:
    """The imported package. Raises IncompatibleVersion, or ImportError with the command that installs it."""
    try:
        module = importlib.import_module(package)
    except ImportError as error:
        raise ImportError(f"the package {package} is missing ({error}); {_advice(package)}") from error
    check_version(package, module.__version__)
    return module


def check_version(package: str, version: str) -> None:
    oldest, refused = _RANGES[package]
    numbers = tuple(int(part) if part.isdigit() else 0 for part in version.split(".")[:2])
    if not oldest <= numbers < refused:
        raise IncompatibleVersion(
            f"{package} {version} is installed; this works with {_text(oldest)} or newer, below {_text(refused)}; "
            f"{_advice(package)}"
        )


def _advice(package: str) -> str:
    return f"install one with: pip install 'gp-client[{package}]', in gp's sources pip install './client/python[{package}]'"


def _text(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"
