import subprocess
import sys
import unittest

from waiting import wait_for


class Waiting(unittest.TestCase):
    def test_returns_the_first_value_that_is_true(self):
        values = iter([None, "", "here", "later"])
        self.assertEqual(wait_for("a word", lambda: next(values)), "here")

    def test_returns_the_first_value_that_is_enough(self):
        steps = iter(range(10))
        self.assertEqual(wait_for("step 3", lambda: next(steps), lambda step: step >= 3), 3)

    def test_looks_once_however_short_the_time_is(self):
        self.assertEqual(wait_for("a number", lambda: 7, seconds=0), 7)

    def test_says_what_it_waited_for_how_long_and_what_was_there_last(self):
        with self.assertRaisesRegex(AssertionError, r"^step 3: not within 0 s; last seen: 2$"):
            wait_for("step 3", lambda: 2, lambda step: step >= 3, seconds=0)

    def test_shows_the_end_of_a_long_value(self):
        with self.assertRaises(AssertionError) as raised:
            wait_for("a line", lambda: "x" * 100_000 + "end", lambda text: "other" in text, seconds=0)
        self.assertLess(len(str(raised.exception)), 2100)
        self.assertTrue(str(raised.exception).endswith("end'"))

    def test_ends_with_the_process(self):
        with subprocess.Popen([sys.executable, "-c", "raise SystemExit(5)"]) as process:
            with self.assertRaisesRegex(AssertionError, "an answer: the process ended with status 5 before that, .*: None"):
                wait_for("an answer", lambda: None, process=process)

    def test_sees_what_the_process_did_last(self):
        with subprocess.Popen([sys.executable, "-c", "pass"]) as process:
            process.wait()
            self.assertEqual(wait_for("an answer", lambda: "answer", process=process), "answer")


if __name__ == "__main__":
    unittest.main()
