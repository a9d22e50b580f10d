import unittest

import page_commands

PAGE = """
<!-- executed -->
```console
$ gpctl submit run.yaml \\
>     --wait
run … succeeded
```

```console
$ gpctl down
```
"""


class Steps(unittest.TestCase):
    def test_come_from_the_marked_blocks_alone(self):
        self.assertEqual(page_commands.executed_steps(PAGE),
                         [("gpctl submit run.yaml \\\n    --wait", ["run … succeeded"])])


class ExpectedLines(unittest.TestCase):
    def test_appear_in_their_order(self):
        output = "one\ntwo\nthree\n"
        self.assertIsNone(page_commands.first_missing(["one", "three"], output))
        self.assertEqual(page_commands.first_missing(["three", "one"], output), "one")
        self.assertEqual(page_commands.first_missing(["two", "two"], output), "two")

    def test_match_any_part_of_a_line(self):
        self.assertIsNone(page_commands.first_missing(["  b … d"], "a b c d e"))

    def test_have_their_pieces_in_one_line_and_in_order(self):
        self.assertEqual(page_commands.first_missing(["a … b"], "a\nb"), "a … b")
        self.assertEqual(page_commands.first_missing(["a…b"], "b a"), "a…b")
        self.assertEqual(page_commands.first_missing(["aa…aa"], "aaa"), "aa…aa")

    def test_take_no_longer_with_many_ellipses(self):
        # As a regular expression with a wildcard for each `…`, this would take practically forever.
        expected = ["…".join(["a"] * 200) + "…b"] * 50
        output = "\n".join(["a" * 10_000] * 50)
        self.assertEqual(page_commands.first_missing(expected, output), expected[0])
        self.assertIsNone(page_commands.first_missing(expected, output.replace("\n", "b\n") + "b"))


class Problems(unittest.TestCase):
    def test_name_the_line_that_the_command_did_not_print(self):
        problem = page_commands.problem_of(("gpctl list", ["alpha", "beta"]), (0, "alpha\ngamma\n"))
        self.assertEqual(problem, "$ gpctl list\nthe page shows\nbeta\nbut it printed\nalpha\ngamma\n")

    def test_name_the_exit_status(self):
        self.assertIn("exit 3\nno run", page_commands.problem_of(("gpctl list", []), (3, "no run\n")))
        self.assertIn("exit None", page_commands.problem_of(("exit", []), (None, "")))

    def test_are_none_when_the_page_is_right(self):
        self.assertEqual(page_commands.problems_of([("gpctl list", ["alpha"])], [(0, "alpha\n")]), [])


if __name__ == "__main__":
    unittest.main()
