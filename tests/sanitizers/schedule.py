"""The order of suites, and running them one after another until time runs out."""
import time

import processes

GROUP = 4  # suites that are built together, to use every core; a build that is cut off loses at most this many

PASSED, FAILED, NOT_BUILT = "passed", "failed", "not built"


def must_run(run, content):
    """Whether the suite never ran, did not pass, or ran with different code."""
    return run is None or not run.passed or run.content != content


def order(contents, last):
    """The order in which suites run, given {suite: content} and the last run of each: failed ones, then changed ones, then the
    others. Within each of these, the longest waiting suite comes first; suites that waited equally long, or never ran, keep the
    given order."""
    def place(suite):
        run = last.get(suite)
        failed = run is not None and not run.passed
        return not failed, not must_run(run, contents[suite]), run.when if run else ""
    return sorted(contents, key=place)


def outcomes(suites, build, test, clock=time.monotonic):
    """Yields (suite, outcome, seconds) for each suite; ends early if build(suites) or test(suite) raises OutOfTime. The seconds
    are those of the test plus an equal share of its group's build."""
    try:
        for first in range(0, len(suites), GROUP):
            group = suites[first:first + GROUP]
            began = clock()
            built = build(group)
            share = (clock() - began) / len(group)
            for suite in group:
                began = clock()
                # If the group fails to build, build the suite alone: a broken source fails only its own suite.
                if not (built or build([suite])):
                    outcome = NOT_BUILT
                else:
                    outcome = PASSED if test(suite) else FAILED
                yield suite, outcome, share + clock() - began
    except processes.OutOfTime:
        return
