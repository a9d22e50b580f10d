"""scripts/check_quotes.py reports tests that quote a message that was reworded, and nothing else."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import check_quotes  # noqa: E402

SOURCE = 'return InvalidArgument("the disk of {} is full; "\n                       "free {} bytes", host, bytes);\n'


class Repository:
    """A git repository with one source and one test, committed."""

    def __init__(self, path):
        self.path = path
        self.git("init", "--quiet")
        self.write("base/disk.cc", SOURCE)
        self.write("tests/base/disk_test.cc", "")
        self.commit()

    def git(self, *arguments):
        check_quotes.git(self.path, "-c", "user.name=t", "-c", "user.email=t@example.com", *arguments)

    def write(self, name, text):
        (self.path / name).parent.mkdir(parents=True, exist_ok=True)
        (self.path / name).write_text(text, encoding="utf-8")
        self.git("add", name)

    def commit(self):
        self.git("commit", "--quiet", "--message", "base: a change")

    def check(self, *arguments):
        """(exit status, output)"""
        script = pathlib.Path(check_quotes.__file__)
        done = subprocess.run([script, "--root", self.path, *arguments], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr


class CheckQuotesTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.repository = Repository(pathlib.Path(scratch.name))

    def quote(self, words):
        self.repository.write("tests/base/disk_test.cc", f'\nEXPECT_THAT(error, HasSubstr("{words}"));\n')

    def reword(self):
        self.repository.write("base/disk.cc", SOURCE.replace("is full", "has no space"))

    def test_a_message_that_was_reworded_is_named_with_its_place(self):
        self.quote("is full; free")
        self.assertEqual(self.repository.check(), (0, ""))
        self.reword()
        status, output = self.repository.check()
        self.assertEqual(status, 1)
        self.assertRegex(output, r'tests/base/disk_test\.cc:2: no source prints "is full; free" any more')

    def test_a_commit_does_not_hide_it(self):
        self.quote("is full; free")
        self.reword()
        self.repository.commit()
        self.assertEqual(self.repository.check()[0], 1)
        self.assertEqual(self.repository.check("--since", "HEAD")[0], 0)

    def test_a_message_that_came_and_went_since_then_is_known(self):
        self.repository.write("base/disk.cc", SOURCE.replace("is full", "is too small"))
        self.repository.commit()
        self.quote("is too small; free")
        self.reword()
        self.repository.commit()
        self.assertEqual(self.repository.check()[0], 1)

    def test_the_test_that_follows_the_message_passes(self):
        self.reword()
        self.quote("has no space; free")
        self.assertEqual(self.repository.check(), (0, ""))

    def test_a_number_may_be_one_that_is_put_in(self):
        self.repository.write("base/disk.cc", 'Error("only 7 bytes are left");\n')
        self.repository.commit()
        self.quote("only 7 bytes are")
        self.repository.write("base/disk.cc", 'Error("only {} bytes are left", bytes);\n')
        self.assertEqual(self.repository.check(), (0, ""))

    def test_words_of_the_test_alone_and_short_ones_pass(self):
        self.reword()
        self.quote("nothing ever printed this")
        self.assertEqual(self.repository.check(), (0, ""))
        self.quote("is full")
        self.assertEqual(self.repository.check(), (0, ""))

    def test_a_quote_over_two_lines_and_with_escapes_is_one(self):
        self.repository.write("base/disk.cc", 'Error("no file \\"a b\\" is here");\n')
        self.repository.commit()
        self.repository.write("tests/base/disk_test.cc", 'Error("no file \\"a "\n      "b\\" is");\n')
        self.assertEqual(self.repository.check()[0], 0)
        self.repository.write("base/disk.cc", 'Error("no folder");\n')
        status, output = self.repository.check()
        self.assertEqual(status, 1, output)
        self.assertIn('disk_test.cc:1: no source prints "no file "a b" is" any more', output)


if __name__ == "__main__":
    unittest.main()
