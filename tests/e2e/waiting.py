"""How tests of real programs wait for a condition."""

import time

# Limits a hang; a busy machine does not reach it. Each test's own timeout is longer (cmake/Testing.cmake).
SECONDS_MAX = 120
PAUSE_SECONDS = 0.05
SHOWN_CHARACTERS_MAX = 2000


def wait_for(what, look, until=bool, seconds=SECONDS_MAX, process=None):
    """Calls `look` repeatedly and returns the first value that `until` accepts.

    Raises AssertionError if none comes within `seconds`, or if `process` has ended and a last look brought none. The message
    states what was waited for, how long, and what `look` returned last.
    """
    begin = time.monotonic()
    while True:
        # Checked before the look, so that the last look sees all that the process did.
        has_ended = process is not None and process.poll() is not None
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
