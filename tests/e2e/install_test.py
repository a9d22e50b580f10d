"""`cmake --install` makes a tree that works after being moved, and that uses nothing from the build tree.

    install_test.py BUILD-TREE
"""

import os
import pathlib
import subprocess
import sys
import tempfile

ENGINE_PROGRAMS = ("gp-trainer", "gp-sampler", "gp-evaluator")


def output_of(*command):
    # A home of its own: with the user's context, gpctl would ask that context's server for its version.
    done = subprocess.run([str(word) for word in command], check=False, capture_output=True,
                          text=True, cwd="/", env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"})
    return done.stdout + done.stderr if done.returncode == 0 else sys.exit(
        f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout}{done.stderr}")


def check_libraries(root, program):
    """Libraries that are not the system's must come from the installed tree."""
    for line in output_of("ldd", root / "bin" / program).splitlines():
        path = line.partition("=>")[2].split(" (")[0].strip()
        if "not found" in line:
            sys.exit(f"{program}: {line.strip()}")
        if path.startswith("/") and not path.startswith(("/lib", "/usr/lib")):
            if root not in pathlib.Path(path).resolve().parents:
                sys.exit(f"{program} takes {path} from outside the installed tree")


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(prefix="gp-install-") as scratch:
        first, moved = pathlib.Path(scratch, "first"), pathlib.Path(scratch, "moved")
        output_of("cmake", "--install", build, "--prefix", first)
        first.rename(moved)
        for program in sorted((moved / "bin").iterdir()):
            check_libraries(moved.resolve(), program.name)
            output_of(program, "version" if program.name == "gpctl" else "--version")
        missing = [name for name in ENGINE_PROGRAMS if not (moved / "bin" / name).exists()]
        if missing:
            sys.exit(f"not installed: {', '.join(missing)}")
        if not list((moved / "share/gp/configs/runs").glob("*.yaml")):
            sys.exit("the run files are not installed")
        print(f"{len(list((moved / 'bin').iterdir()))} programs run from a tree that was moved")
    return 0


if __name__ == "__main__":
    sys.exit(main())
