"""A virtual machine for tests, run by QEMU: Debian with systemd and its own kernel, on a disk made from a container's root. It
has no network. Commands are sent one at a time to a shell in it, over a virtio serial port."""

import base64
import os
import pathlib
import shlex
import shutil
import socket
import subprocess
import time

import buildah

PACKAGES = ("systemd", "systemd-sysv", "dbus", "udev", "linux-image-cloud-amd64", "initramfs-tools", "zstd", "procps")
MEMORY_MIB = 3072
DISK = "6G"  # a sparse file
BOOT_SECONDS_MAX = 240
STOP_SECONDS_MAX = 120

# The protocol uses one line each way: the base64-encoded command; then its exit status and its base64-encoded output.
SHELL = """\
#!/bin/bash
exec 3<>/dev/virtio-ports/shell
echo ready >&3
while IFS= read -r line <&3; do
  output=$(bash -c "$(base64 --decode <<<"$line")" 2>&1 </dev/null 3>&-)
  printf '%s %s\\n' "$?" "$(base64 --wrap=0 <<<"$output")" >&3
done
"""
SHELL_UNIT = """\
[Unit]
Description=executes the commands of a test
Requires=dev-virtio\\x2dports-shell.device
After=dev-virtio\\x2dports-shell.device
[Service]
ExecStart=/usr/local/sbin/vm-shell
OOMScoreAdjust=-900
[Install]
WantedBy=multi-user.target
"""


def skip_where_it_cannot_run():
    for program in ("qemu-system-x86_64", "mke2fs"):
        if not shutil.which(program):
            buildah.skip(f"{program} is not installed: scripts/bootstrap --deploy")


def hardware_runs_it():
    """Whether KVM can use the processor's virtualisation. /dev/kvm alone does not prove it: without that support, as in many
    virtual machines, KVM may exist but fail to run an ordinary kernel."""
    return os.access("/dev/kvm", os.R_OK | os.W_OK) and any(
        pathlib.Path("/sys/module", module).exists() for module in ("kvm_intel", "kvm_amd"))


def processor():
    if hardware_runs_it():
        return ["-accel", "kvm", "-cpu", "host"]
    return ["-accel", "tcg,thread=multi", "-cpu", "Haswell"]


def make_bootable(container):
    """Installs systemd and a kernel into the container, and the shell that `Machine.run` talks to."""
    container.install(*PACKAGES)
    root = container.root()
    (root / "usr/local/sbin/vm-shell").write_text(SHELL)
    (root / "usr/local/sbin/vm-shell").chmod(0o755)
    (root / "etc/systemd/system/vm-shell.service").write_text(SHELL_UNIT)
    container.run("systemctl", "enable", "vm-shell.service")


class Machine:
    """Boots a copy of the container's root. `folder` gets the disk, the kernel and the console output."""

    def __init__(self, container, folder):
        self.folder = pathlib.Path(folder)
        root = container.root()
        for name in ("vmlinuz", "initrd.img"):
            shutil.copy(next((root / "boot").glob(f"{name}-*")), self.folder / name)
        buildah.run("mke2fs", "-q", "-t", "ext4", "-d", root, self.folder / "disk", DISK)
        self.process = self.connection = self.stream = None
        self.is_ready = False

    def command(self):
        return ["setpriv", "--pdeathsig", "KILL", "qemu-system-x86_64", "-M", "q35", *processor(), "-smp", "2", "-m", str(MEMORY_MIB),
                "-nodefaults", "-nographic", "-no-reboot", "-kernel", "vmlinuz", "-initrd", "initrd.img",
                "-append", "console=ttyS0 root=/dev/vda rw quiet mitigations=off", "-serial", "file:console",
                "-drive", "file=disk,if=virtio,format=raw,cache=unsafe", "-device", "virtio-serial",
                "-chardev", "socket,id=shell,path=shell", "-device", "virtserialport,chardev=shell,name=shell"]

    def start(self):
        started = time.monotonic()
        with socket.socket(socket.AF_UNIX) as listener, open(self.folder / "qemu.log", "wb") as log:
            listener.bind(str(self.folder / "shell"))
            listener.listen(1)
            listener.settimeout(60)
            self.process = subprocess.Popen(self.command(), cwd=self.folder, stdout=log, stderr=log)
            connection = listener.accept()[0]
        connection.settimeout(BOOT_SECONDS_MAX)
        self.connection, self.stream = connection, connection.makefile("rwb")
        if self.answer() != b"ready\n":
            raise AssertionError("the virtual machine ended before its shell was ready: " + self.console())
        self.is_ready = True
        print(f"the virtual machine was ready after {time.monotonic() - started:.0f} s, {processor()[1]}", flush=True)

    def answer(self):
        try:
            return self.stream.readline()
        except TimeoutError:
            raise AssertionError("the virtual machine does not answer: " + self.console()) from None

    def run(self, command, check=True, seconds=180):
        """Executes a command line as root. The result has `returncode` and `stdout`, which includes stderr."""
        line = base64.b64encode(f"timeout {seconds} bash -c {shlex.quote(command)}".encode())
        self.connection.settimeout(seconds + 60)
        self.stream.write(line + b"\n")
        self.stream.flush()
        status, _, output = self.answer().partition(b" ")
        text = base64.b64decode(output).decode(errors="replace").rstrip("\n")
        done = subprocess.CompletedProcess(command, int(status or -1), stdout=text)
        if check and done.returncode != 0:
            raise AssertionError(f"{command}: exit {done.returncode}\n{text[-4000:]}")
        return done

    def read(self, command):
        return self.run(command).stdout

    def console(self):
        texts = [(self.folder / name).read_text(errors="replace")[-2000:] for name in ("qemu.log", "console")
                 if (self.folder / name).exists()]
        return "\n".join(texts)

    def stop(self):
        if self.process is None:
            return
        try:
            if self.is_ready and self.process.poll() is None:
                self.run("systemctl poweroff --no-block", check=False)
                self.process.wait(STOP_SECONDS_MAX)
        except (AssertionError, OSError, subprocess.TimeoutExpired):
            print("the virtual machine did not stop by itself")
        self.process.kill()
        self.process.wait()

