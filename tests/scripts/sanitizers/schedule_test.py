"""The order of suites, and what is reported about those for which no time is left."""
import unittest

import sanitizer_case  # noqa: F401
import processes
import record
import schedule


def ran(day, content="new", passed=True):
    return record.Run(f"2026-01-{day:02} 10:00", "c0ffee00", content, 1, passed)


class Order(unittest.TestCase):
    def expect(self, order, last, given=None):
        contents = {suite: "new" for suite in given or sorted(order)}
        self.assertEqual(schedule.order(contents, last), order)

    def test_changed_suites_come_before_those_that_waited_longer(self):
        self.expect(["b", "a"], {"a": ran(1), "b": ran(9, "old")})

    def test_of_changed_suites_the_one_that_waited_longest_comes_first(self):
        self.expect(["c", "b", "a"], {"a": ran(9, "old"), "b": ran(2, "older"), "c": ran(1, "old")})

    def test_a_suite_that_never_ran_has_changed_and_waited_longest(self):
        self.expect(["c", "a", "b"], {"a": ran(1, "old"), "b": ran(1)})

    def test_a_suite_that_failed_comes_first_though_its_code_is_the_same(self):
        self.expect(["b", "c", "a"], {"a": ran(2, "old"), "b": ran(9, passed=False)})

    def test_unchanged_suites_come_last_and_the_latest_run_at_the_end(self):
        self.expect(["c", "b", "a"], {"a": ran(9), "b": ran(8), "c": ran(7)})

    def test_suites_that_waited_equally_long_stay_in_the_order_given(self):
        self.expect(["b", "a", "d", "c"], {"d": ran(1), "c": ran(1)}, given=["d", "b", "c", "a"])


class Machine:
    """A simulated machine: builds and tests take the given time, or none; time runs out at `end`."""

    def __init__(self, end, failing=(), broken=()):
        self.now, self.end, self.failing, self.broken = 0, end, failing, broken
        self.builds = []

    def clock(self):
        return self.now

    def spend(self, seconds):
        self.now = min(self.end, self.now + seconds)
        if self.now == self.end:
            raise processes.OutOfTime

    def build(self, suites):
        self.builds.append(suites)
        self.spend(10 * len(suites))
        return not set(suites) & set(self.broken)

    def test(self, suite):
        self.spend(1)
        return suite not in self.failing


def outcomes(suites, machine):
    return list(schedule.outcomes(list(suites), machine.build, machine.test, machine.clock))


class Outcomes(unittest.TestCase):
    def test_every_suite_runs_when_there_is_time(self):
        self.assertEqual([suite for suite, _, _ in outcomes("abcdef", Machine(1000))], list("abcdef"))

    def test_suites_are_built_together_in_small_groups(self):
        machine = Machine(1000)
        outcomes("abcdef", machine)
        self.assertEqual(machine.builds, [list("abcd"), list("ef")])

    def test_the_seconds_are_those_of_the_test_and_a_share_of_the_build(self):
        self.assertEqual(outcomes("ab", Machine(1000)), [("a", "passed", 11), ("b", "passed", 11)])

    def test_a_build_that_the_deadline_ends_counts_for_none_of_its_suites(self):
        self.assertEqual([suite for suite, _, _ in outcomes("abcdef", Machine(50))], list("abcd"))

    def test_a_test_that_the_deadline_ends_does_not_count(self):
        self.assertEqual([suite for suite, _, _ in outcomes("abcd", Machine(42))], ["a"])

    def test_a_failure_keeps_no_other_suite_from_running(self):
        found = outcomes("abc", Machine(1000, failing="b"))
        self.assertEqual([outcome for _, outcome, _ in found], ["passed", "failed", "passed"])

    def test_a_suite_that_does_not_build_fails_alone(self):
        found = outcomes("abc", Machine(1000, broken="b"))
        self.assertEqual([outcome for _, outcome, _ in found], ["passed", "not built", "passed"])


if __name__ == "__main__":
    unittest.main()
