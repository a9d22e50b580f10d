"""The Python with the packages that the tests of client/python use: .deps/python of `scripts/bootstrap --python`."""

import os
import pathlib
import sys

SOURCE = pathlib.Path(os.environ["GP_SOURCE"])
FOLDER = SOURCE / ".deps" / "python"
PYTHON = FOLDER / "bin" / "python"
PACKAGE = SOURCE / "client" / "python"
SKIPPED = 77


def continue_there():
    """Goes on in that Python, with the package's sources on its path; ends the test as skipped if it is not installed."""
    if not PYTHON.exists():
        print(f"{PYTHON.relative_to(SOURCE)} is missing; 'scripts/bootstrap --python' installs it")
        sys.exit(SKIPPED)
    if pathlib.Path(sys.prefix) != FOLDER:
        os.execve(PYTHON, [PYTHON, *sys.argv], {**os.environ, "PYTHONPATH": str(PACKAGE / "src")})


def site_packages():
    return next(FOLDER.glob("lib/python3*/site-packages"))
