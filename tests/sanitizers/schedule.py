"""The order of suites, and running them one after another until the time is up."""
import time

import processes

GROUP = 4  # suites that are built together, so that every core has work; ending a build loses at most this many

PASSED, FAILED, NOT_BUILT = "passed", "failed", "not built"


def must_run(run, content):
    """Whether the suite never ran, or did not pass, or ran with other code."""
    return run is None or not run.passed or run.content != content


def order(contents, last):
    """The suites of {suite: content}, given the last run of each: failed ones, changed ones, the others. Among equals the
    suite that has waited longest comes first; those that waited equally long, or never ran, stay in the order given."""
    def place(suite):
        run = last.get(suite)
        failed = run is not None and not run.passed
        return not failed, not must_run(run, contents[suite]), run.when if run else ""
    return sorted(contents, key=place)


def outcomes(suites, build, test, clock=time.monotonic):
    """Yields (suite, outcome, seconds) of each; ends early when build(suites) or test(suite) raises OutOfTime. The seconds
    are those of the test and an equal share of the build of its group."""
    try:
        for first in range(0, len(suites), GROUP):
            group = suites[first:first + GROUP]
            began = clock()
            built = build(group)
            share = (clock() - began) / len(group)
            for suite in group:
                began = clock()
                if not (built or build([suite])):  # a source that does not compile fails the group, not every suite of it
                    outcome = NOT_BUILT
                else:
                    outcome = PASSED if test(suite) else FAILED
                yield suite, outcome, share + clock() - began
    except processes.OutOfTime:
        return
