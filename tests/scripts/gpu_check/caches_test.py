"""Caches are carried to and from a GPU machine, and git ignores them."""
import os
import pathlib
import shutil
import subprocess
import unittest
import unittest.mock

import gpu_check_case  # first: it adds the modules' folder to sys.path
import caches


class Caches(gpu_check_case.InFolder):
    def test_go_on_from_the_archive_on_another_machine(self):
        with unittest.mock.patch.dict(os.environ):
            first, second = self.folder / "first/out", self.folder / "second/out"
            caches.unpack(first)
            pathlib.Path(os.environ["XDG_CACHE_HOME"], "tuned").write_text("choices")
            pathlib.Path(os.environ["TORCHINDUCTOR_CACHE_DIR"], "kernel").write_text("code")
            caches.pack(first)
            second.mkdir(parents=True)
            shutil.copy2(first / "cache.tar.gz", second)
            caches.unpack(second)
            self.assertEqual(pathlib.Path(os.environ["XDG_CACHE_HOME"], "tuned").read_text(), "choices")
            self.assertEqual(pathlib.Path(os.environ["TORCHINDUCTOR_CACHE_DIR"], "kernel").read_text(), "code")
            self.assertTrue(pathlib.Path(os.environ["TRITON_CACHE_DIR"]).is_relative_to(second.parent / "out-cache"))

    def is_ignored(self, path):
        return subprocess.run(["git", "-C", gpu_check_case.ROOT, "check-ignore", "-q", path], check=False).returncode == 0

    @unittest.skipUnless((gpu_check_case.ROOT / ".git").exists(), "the source tree is no git checkout")
    def test_git_ignores_all_that_a_call_leaves_for_the_next(self):
        """A GPU machine gets a fresh copy of the checkout for each call and keeps only files that git ignores."""
        out = gpu_check_case.ROOT / "gpu_check"
        for place in (out, caches.folder(out)):
            self.assertTrue(self.is_ignored(place / "results.json"), place)
        self.assertFalse(self.is_ignored(gpu_check_case.ROOT / "tests/bench/gpu_check/a_new_module.py"))


if __name__ == "__main__":
    unittest.main()
