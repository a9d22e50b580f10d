"""How a test of real programs waits for something that they do."""

import time

# A limit for hangs, not for slowness on a busy machine. A test's own limit is above it (cmake/Testing.cmake).
SECONDS_MAX = 120
PAUSE_SECONDS = 0.05
SHOWN_CHARACTERS_MAX = 2000


def wait_for(what, look, until=bool, seconds=SECONDS_MAX, process=None):
    """Calls `look` again and again, and returns the first value that `until` accepts.

    AssertionError when none came within `seconds`, or when `process` has ended and its last work brought none. The message
    says what was waited for, how long, and what `look` returned last.
    """
    begin = time.monotonic()
    while True:
        has_ended = process is not None and process.poll() is not None  # before the look, which then sees all that it did
        value = look()
        if until(value):
            return value
        waited = time.monotonic() - begin
        if has_ended:
            raise AssertionError(f"{what}: the process ended with status {process.returncode} before that, "
                                 f"after {waited:.1f} s; {last_seen(value)}")
        if waited >= seconds:
            raise AssertionError(f"{what}: not within {seconds} s; {last_seen(value)}")
        time.sleep(PAUSE_SECONDS)


def last_seen(value):
    return f"last seen: {repr(value)[-SHOWN_CHARACTERS_MAX:]}"
