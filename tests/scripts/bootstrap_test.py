"""scripts/bootstrap installs only what is missing, retries when the network fails, and reports what it does.

Scripts that record their calls replace the system's tools; nothing is installed.
"""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "bootstrap"
WHEELS = " ".join(re.search(r"WHEELS=\((.*?)\)", SCRIPT.read_text(), re.DOTALL).group(1).split())
PACKAGES = re.search(r"BUILD_PACKAGES=\((.*?)\)", SCRIPT.read_text(), re.DOTALL).group(1).split()


class Bootstrap(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = pathlib.Path(directory.name)
        self.calls = self.root / "calls"
        self.calls.touch()
        (self.root / "scripts").mkdir()
        shutil.copy(SCRIPT, self.root / "scripts")
        (self.root / "tools").mkdir()
        self.have(PACKAGES)
        self.tool("apt-get", "true")
        self.tool("sudo", 'exec "$@"')
        self.tool("sleep", "true")
        (self.root / ".deps/venv").mkdir(parents=True)
        (self.root / ".deps/venv/installed-wheels.txt").write_text(f"--no-deps {WHEELS}\n")
        (self.root / ".deps/text").mkdir()
        (self.root / ".deps/text/jargon.txt").touch()

    def tool(self, name, body):
        path = self.root / "tools" / name
        path.write_text(f'#!/bin/bash\necho "{name} $*" >>"{self.calls}"\n{body}\n')
        path.chmod(0o755)

    def have(self, packages):
        lines = "\n".join(f"{package} installed" for package in packages)
        self.tool("dpkg-query", f"cat <<'END'\n{lines}\nEND")

    def toolkit(self, release, headers):
        """Creates a CUDA toolkit beside the fake tools, so that the machine's own is not used."""
        (self.root / "toolkit/include").mkdir(parents=True)
        (self.root / "toolkit/bin").mkdir()
        nvcc = self.root / "toolkit/bin/nvcc"
        nvcc.write_text(f"#!/bin/bash\necho 'Cuda compilation tools, release {release}, V{release}.1'\n")
        nvcc.chmod(0o755)
        for header in headers:
            (self.root / "toolkit/include" / header).touch()

    def cuda_wheels(self):
        """The packages that `--cuda` would install, without versions. Hides the machine's own nvcc."""
        path = ":".join(folder for folder in os.environ["PATH"].split(":")
                        if not (pathlib.Path(folder) / "nvcc").exists())
        _, messages, _ = self.run_script("--cuda", "--dry-run", PATH=path,
                                         CUDA_HOME=str(self.root / "toolkit"))
        line = re.search(r"installing into \.deps/cuda: --no-deps (.*)", messages).group(1)
        return {wheel.split("==")[0] for wheel in line.split()}

    def run_script(self, *arguments, **variables):
        environment = {**os.environ, **variables}
        environment["PATH"] = f"{self.root / 'tools'}:{environment['PATH']}"
        done = subprocess.run([self.root / "scripts/bootstrap", *arguments], env=environment,
                              check=False, capture_output=True, text=True)
        return done.returncode, done.stderr, self.calls.read_text()

    def test_does_nothing_when_nothing_is_missing(self):
        status, messages, calls = self.run_script()
        self.assertEqual((status, messages), (0, ""))
        self.assertNotIn("apt-get", calls)

    def test_installs_only_what_is_missing_and_prints_it(self):
        self.have([package for package in PACKAGES if package != "ccache"])
        status, messages, calls = self.run_script()
        self.assertEqual(status, 0, messages)
        self.assertIn("installing 1 system packages: ccache", messages)
        self.assertRegex(calls, r"apt-get .*install -y --no-install-recommends ccache\n")

    def test_dry_run_changes_nothing(self):
        self.have([])
        status, messages, calls = self.run_script("--dry-run")
        self.assertEqual(status, 0)
        self.assertIn("cmake", messages)
        self.assertNotIn("apt-get", calls)

    def test_dev_adds_the_checkers(self):
        _, messages, _ = self.run_script("--dev", "--dry-run")
        self.assertIn("clang-format-14", messages)

    def test_peers_come_only_when_asked_for(self):
        _, messages, _ = self.run_script("--peers", "--dry-run")
        self.assertIn("installing into .deps/peers: torch==", messages)

    def test_the_python_client_has_an_environment_of_its_own(self):
        _, messages, _ = self.run_script("--python", "--dry-run")
        self.assertRegex(messages, r"installing into \.deps/python: .*grpcio-tools==")

    def test_a_cuda_toolkit_with_all_headers_lacks_only_the_frontend(self):
        self.toolkit("13.0", ["cudnn.h", "nccl.h"])
        self.assertEqual(self.cuda_wheels(), {"nvidia-cudnn-frontend"})

    def test_a_toolkit_without_cudnn_and_nccl_gets_them(self):
        if pathlib.Path("/usr/include/cudnn.h").exists() or pathlib.Path("/usr/include/nccl.h").exists():
            self.skipTest("the system has cuDNN or NCCL of its own")
        self.toolkit("13.0", [])
        self.assertEqual(self.cuda_wheels(),
                         {"nvidia-cudnn-frontend", "nvidia-cudnn-cu13", "nvidia-nccl-cu13"})

    def test_an_old_or_missing_nvcc_brings_the_whole_toolchain(self):
        without = self.cuda_wheels()
        self.assertIn("nvidia-cuda-nvcc", without)
        self.toolkit("12.9", ["cudnn.h", "nccl.h"])
        self.assertEqual(self.cuda_wheels(), without)

    def test_tries_again_and_then_names_what_failed(self):
        self.have([])
        self.tool("apt-get", "exit 100")
        status, messages, calls = self.run_script()
        self.assertEqual(status, 1)
        # For an ordinary user each call is recorded twice: as sudo's and as apt-get's own.
        own_calls = [call for call in calls.splitlines() if call.startswith("apt-get ")]
        self.assertEqual(len(own_calls), 3)
        self.assertIn("check the network", messages)

    def test_an_unknown_argument_is_a_usage_error(self):
        self.assertEqual(self.run_script("--frobnicate")[0], 2)

    def test_a_text_that_is_missing_is_unpacked_from_its_package(self):
        (self.root / ".deps/text/jargon.txt").unlink()
        status, messages, _ = self.run_script("--dry-run")
        self.assertEqual(status, 0)
        packaged = pathlib.Path("/usr/share/doc/jargon-text/jargon.txt.gz").exists()
        self.assertEqual("unpacking the demo's text" in messages, not packaged)


if __name__ == "__main__":
    unittest.main()
