"""scripts/gpu_check packs what a GPU machine needs."""
import json
import os
import shutil
import subprocess
import sys
import unittest
import unittest.mock

import gpu_check_case  # first: it adds the modules' folder to sys.path
import package


class Packaging(gpu_check_case.InFolder):
    def test_takes_programs_libraries_and_itself_along(self):
        build = self.make_build(shutil.which("ninja"))  # a program that needs several libraries
        status, output, errors = self.check("--package", self.folder / "package", "--build", build)
        self.assertEqual((status, errors), (0, ""), output)
        manifest = json.loads((self.folder / "package/package.json").read_text())
        self.assertEqual(manifest["tests"], ["kernels_test", "backend_test"])
        self.assertRegex(manifest["glibc"], r"^2\.\d+$")
        self.assertTrue(os.access(self.folder / "package/bin/gp-trainer-cuda", os.X_OK))
        taken = {path.name for path in (self.folder / "package/lib").iterdir()}
        self.assertTrue(any(name.startswith("libstdc++") for name in taken), taken)
        self.assertFalse(any(package.EXPECTED_THERE.match(name) for name in taken), taken)
        self.assertTrue((self.folder / "package/tests/bench/peers/torch_step.py").exists())
        self.assertFalse(any(str(gpu_check_case.ROOT) in path.read_text() for path in (self.folder / "package").rglob("*.json")))

    def test_the_package_runs_by_itself(self):
        self.check("--package", self.folder / "package", "--build", self.make_build())
        status, output, _ = self.check("--dry-run", script=self.folder / "package/scripts/gpu_check")
        self.assertEqual(status, 0)
        self.assertIn("test-kernels_test", output)
        self.assertRegex(output, r"MiB +gp-peer-bench-cuda")
        self.assertIn("cuDNN (libcudnn.so.9)", output)

    def test_a_program_finds_its_libraries_in_the_package(self):
        source = self.folder / "program.c"
        source.write_text("int answer(void);\nint main(void) { return answer(); }\n")
        (self.folder / "answer.c").write_text("int answer(void) { return 42; }\n")
        gcc = ["gcc", "-o"]
        subprocess.run([*gcc, self.folder / "libanswer.so", "-shared", "-fPIC", self.folder / "answer.c"], check=True)
        subprocess.run([*gcc, self.folder / "program", source, f"-L{self.folder}", "-lanswer", f"-Wl,-rpath,{self.folder}",
                        "-Wl,--disable-new-dtags"], check=True)
        build = self.make_build(self.folder / "program")
        package.make(build, self.folder / "package")
        (self.folder / "libanswer.so").unlink()
        environment = {key: value for key, value in os.environ.items() if key != "LD_LIBRARY_PATH"}
        done = subprocess.run([self.folder / "package/bin/gp-trainer-cuda"], check=False, env=environment)
        self.assertEqual(done.returncode, 42)

    def test_run_starts_a_program_by_hand(self):
        self.check("--package", self.folder / "package", "--build", self.make_build(shutil.which("env")))
        done = subprocess.run([self.folder / "package/run", "gp-peer-bench-cuda", "echo", "hello"], capture_output=True, text=True,
                              check=True, cwd="/", env=dict(os.environ, PYTHON=sys.executable))
        self.assertEqual(done.stdout, "hello\n")

    def test_names_what_is_not_built(self):
        status, _, errors = self.check("--package", self.folder / "package", "--build", self.folder)
        self.assertEqual(status, 1)
        self.assertIn("gp-trainer-cuda; run cmake --preset cuda", errors)

    def test_refuses_a_package_that_is_too_large(self):
        with unittest.mock.patch.object(package, "LIMIT_BYTES", 1000):
            with self.assertRaisesRegex(RuntimeError, "more than 0; the largest: .*"):
                package.make(self.make_build(), self.folder / "package")

    def test_leaves_what_the_machine_has(self):
        for name in ("libc.so.6", "libcudart.so.13", "libtorch_cpu.so", "libcuda.so.1", "ld-linux-x86-64.so.2", "libgomp.so.1"):
            self.assertTrue(package.EXPECTED_THERE.match(name), name)
        for name in ("libfmt.so.9", "libstdc++.so.6", "libcrypto.so.3", "libyaml-cpp.so.0.7", "libcurl.so.4"):
            self.assertFalse(package.EXPECTED_THERE.match(name), name)


if __name__ == "__main__":
    unittest.main()
