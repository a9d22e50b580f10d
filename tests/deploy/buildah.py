"""Containers for tests, made with buildah: needs root, but no Docker engine and no registry. Each container uses the machine's
network and its own root file system (isolation chroot)."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys

BASE = "docker.io/library/debian:bookworm-slim"
ENVIRONMENT = {**os.environ, "STORAGE_DRIVER": os.environ.get("STORAGE_DRIVER", "vfs"), "BUILDAH_ISOLATION": "chroot"}


def skip_where_it_cannot_run():
    for program in ("buildah", "cpack", "dpkg-shlibdeps"):
        if not shutil.which(program):
            skip(f"{program} is not installed: scripts/bootstrap --deploy")
    if os.geteuid() != 0:
        skip("needs root, for buildah's containers")
    if run("buildah", "inspect", "--type", "image", BASE, check=False).returncode != 0:
        skip(f"buildah has no image {BASE}: pull it, or make it with debootstrap")


def skip(reason):
    print(reason)
    sys.exit(77)


def run(*command, check=True, timeout=600, **options):
    done = subprocess.run([str(word) for word in command], check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, env=ENVIRONMENT, timeout=timeout, **options)
    if check and done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout[-4000:]}")
    return done


def make_packages(build_tree, folder, version=None):
    """Makes Debian packages of a build tree's programs."""
    command = ["cpack", "--config", pathlib.Path(build_tree, "CPackConfig.cmake"), "-B", folder]
    if version:
        command += ["-D", f"CPACK_PACKAGE_VERSION={version}"]
    run(*command, cwd=folder)
    shutil.rmtree(pathlib.Path(folder, "_CPack_Packages"))
    return sorted(pathlib.Path(folder).glob("*.deb"))


def children_of(pid):
    return [int(child) for task in pathlib.Path(f"/proc/{pid}/task").glob("*/children")
            for child in task.read_text().split()]


class Container:
    """A container made from an image. It is removed at the end, together with every process that still runs in it."""

    def __init__(self, image):
        self.name = run("buildah", "from", "--pull-never", image).stdout.strip().splitlines()[-1]
        self.processes = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            self.stop(process)
        run("buildah", "rm", self.name, check=False)

    def command(self, *command, user=None, volumes=(), variables=None):
        words = ["buildah", "run"]
        words += ["--user", user] if user else []
        for volume in volumes:
            words += ["--volume", volume]
        for name, value in (variables or {}).items():
            words += ["--env", f"{name}={value}"]
        return [str(word) for word in [*words, self.name, "--", *command]]

    def run(self, *command, check=True, timeout=600, **options):
        return run(*self.command(*command, **options), check=check, timeout=timeout)

    def root(self):
        """The container's root directory on this machine."""
        return pathlib.Path(run("buildah", "mount", self.name).stdout.strip())

    def install(self, *packages, **options):
        """Installs Debian packages, given by name or by a path in the container."""
        self.run("bash", "-c", "apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y "
                 f"--no-install-recommends -o Dpkg::Options::=--force-confold {' '.join(packages)}", **options)

    def start(self, *command, log, **options):
        """Starts a process in the background; its output goes to the file `log`."""
        with open(log, "w", encoding="utf-8") as output:
            process = subprocess.Popen(self.command(*command, **options), stdout=output, stderr=subprocess.STDOUT,
                                       env=ENVIRONMENT)
        process.command_name = command[0]
        self.processes.append(process)
        return process

    @staticmethod
    def pid_of(process):
        """The pid of the program itself, which is a descendant of buildah's process."""
        pids, name = [process.pid], pathlib.Path(process.command_name).name
        while pids:
            pid = pids.pop()
            try:
                words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
                if pathlib.Path(words[0].decode()).name == name:
                    return pid
                pids += children_of(pid)
            except (FileNotFoundError, ProcessLookupError):
                continue
        return None

    def stop(self, process, seconds=60):
        """Sends SIGTERM to the program, as a container engine does, and waits until it ends."""
        if process.poll() is None:
            os.kill(self.pid_of(process) or process.pid, signal.SIGTERM)
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                os.kill(self.pid_of(process) or process.pid, signal.SIGKILL)
                process.wait(10)
        return process.returncode
