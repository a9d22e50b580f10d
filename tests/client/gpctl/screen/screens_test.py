"""Live screens of gpctl in a real terminal emulator (tmux), at five sizes, against recorded screens.

Usage: screens_test.py SCREEN_SERVICE [PREFIX]. GP_REWRITE_GOLDEN=1 records the screens anew; look at them before you
commit. PREFIX: only the checks whose names begin with it.
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

from tmux_terminal import Terminal

GPCTL = os.path.join(os.environ["GP_BIN"], "gpctl")
GOLDEN = os.path.join(os.environ["GP_SOURCE"], "tests/client/gpctl/golden")
SIZES = [(40, 10), (80, 24), (120, 40), (160, 50), (250, 70)]
CLOCK = re.compile(r"\d\d:\d\d:\d\d UTC")


class Service:
    """The fake coordinator, and a home for gpctl."""

    def __init__(self, program):
        self.home = tempfile.mkdtemp(prefix="gp-screens-")
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=dict(os.environ, TMPDIR=self.home, TEST_TMPDIR=self.home))
        self.address = self.process.stdout.readline().strip()
        self.environment = {"PATH": os.environ["GP_BIN"] + ":/usr/bin:/bin", "HOME": self.home, "LC_ALL": "C.UTF-8",
                            "GPCTL_SERVER": self.address}
        self.environment.update({name: value for name, value in os.environ.items() if name.startswith("LD_")})

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def stop(self):
        self.process.stdin.close()
        self.process.wait(timeout=30)
        shutil.rmtree(self.home)


def expect_golden(name, terminal, whole):
    """Waits until the screen is the recorded one: gpctl draws what it knows, and more when more answers have come."""
    screen = CLOCK.sub("hh:mm:ss UTC", terminal.wait_for(whole))
    path = os.path.join(GOLDEN, name)
    if os.environ.get("GP_REWRITE_GOLDEN"):
        with open(path, "w") as file:
            file.write(screen)
        return
    with open(path) as file:
        recorded = file.read()
    try:
        terminal.wait_for(lambda now: CLOCK.sub("hh:mm:ss UTC", now) == recorded)
    except AssertionError as error:
        raise AssertionError(f"{path}: recorded:\n{recorded}\n{error}") from None


def is_whole(width):
    """Whether a screen of this width shows everything of the scene: streams arrive one after another."""
    def condition(screen):
        parts = ["q leave", "38.6%", "checkpoint"] if width < 80 else ["q leave", "38.6%", "sealed", "city council"]
        return all(part in screen for part in parts) and "3.2088" in screen
    return condition


def watch(terminal, width):
    terminal.run("gpctl watch gpt2-fineweb")
    return terminal.wait_for(is_whole(width))


def leave(terminal):
    terminal.press("q")
    terminal.wait_for(lambda screen: "Detached." in screen)


def check_sizes(service):
    for columns, rows in SIZES:
        with Terminal(columns, rows, service.environment) as terminal:
            terminal.run("gpctl watch gpt2-fineweb")
            expect_golden(f"watch_{columns}x{rows}.txt", terminal, is_whole(columns))
            leave(terminal)


def is_whole_top(width):
    def condition(screen):
        parts = ["q leave", "gpt2-fineweb", "NODE", "QUEUE"] if width < 80 else ["q leave", "node-d", "QUEUE", "▇", "new disk"]
        return all(part in screen for part in parts)
    return condition


def check_top(service):
    for columns, rows in SIZES:
        with Terminal(columns, rows, service.environment) as terminal:
            terminal.run("gpctl top")
            expect_golden(f"top_{columns}x{rows}.txt", terminal, is_whole_top(columns))
            terminal.press("q")
            terminal.wait_for(lambda screen: not terminal.is_alternate() and "$" in screen)
    with Terminal(40, 10, service.environment) as terminal:
        terminal.run("gpctl watch")
        terminal.wait_for(is_whole_top(40))
        terminal.press("n")
        terminal.wait_for(lambda screen: "node-d" in screen and "RUN" not in screen)
        terminal.resize(40, 6)  # not all nodes fit
        terminal.wait_for(lambda screen: "node-a" in screen and "node-d" not in screen)
        terminal.press("Down")
        terminal.wait_for(lambda screen: "node-a" not in screen and "node-b" in screen)
        terminal.resize(40, 10)  # all of them fit again
        terminal.wait_for(lambda screen: "node-a" in screen and "node-d" in screen)
        terminal.press("Escape")
        terminal.wait_for(is_whole_top(40))
        terminal.press("?")
        terminal.wait_for(lambda screen: "quit; runs are not affected" in screen)
        terminal.press("C-c")
        terminal.wait_for(lambda screen: not terminal.is_alternate())


def check_resize(service):
    with Terminal(80, 24, service.environment) as terminal:
        watch(terminal, 80)
        for columns, rows in [(120, 40), (40, 10), (80, 24)]:
            terminal.resize(columns, rows)
            with open(os.path.join(GOLDEN, f"watch_{columns}x{rows}.txt")) as file:
                expected = file.read()
            terminal.wait_for(lambda screen: CLOCK.sub("hh:mm:ss UTC", screen) == expected)
        # The smallest terminal that there is; then the screen is whole again.
        terminal.resize(1, 1)
        terminal.wait_for(lambda screen: len(screen.strip()) <= 1)
        terminal.resize(80, 24)
        terminal.wait_for(is_whole(80))
        leave(terminal)


def settings_of(terminal):
    """The terminal's modes, as stty shows them."""
    terminal.run("clear; stty -g > modes")
    path = os.path.join(terminal.home, "modes")
    terminal.wait_for(lambda screen: os.path.exists(path) and os.path.getsize(path) > 0)
    with open(path) as file:
        modes = file.read()
    os.remove(path)
    return modes


def expect_restored(terminal, modes):
    terminal.wait_for(lambda screen: not terminal.is_alternate() and "$" in screen)
    assert terminal.ask("cursor_flag") == "1", "the cursor is hidden"
    assert terminal.ask("wrap_flag") == "1", "lines do not break"
    assert settings_of(terminal) == modes


def check_leaving(service):
    """Whatever ends the screen, the terminal is as it was: its text, its modes, its cursor."""
    with Terminal(80, 24, service.environment) as terminal:
        terminal.home = service.home
        terminal.run("cd")
        modes = settings_of(terminal)
        terminal.run("echo before-the-screen")
        watch(terminal, 80)
        assert terminal.is_alternate()
        assert "before-the-screen" not in terminal.screen()
        leave(terminal)
        screen = terminal.wait_for(lambda text: "Detached. gpt2-fineweb continues." in text)
        assert "before-the-screen" in screen and "38.6%" not in screen, screen
        expect_restored(terminal, modes)
        terminal.run("clear")
        watch(terminal, 80)
        terminal.press("C-c")
        expect_restored(terminal, modes)
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGABRT, signal.SIGSEGV, signal.SIGQUIT):
            terminal.run("clear; ulimit -c 0")
            watch(terminal, 80)
            os.kill(gpctl_process(terminal), number)
            expect_restored(terminal, modes)


def gpctl_process(terminal):
    """The process in the foreground of the terminal."""
    shell = terminal.ask("pane_pid")
    children = subprocess.run(["ps", "-o", "pid=,comm=", "--ppid", shell], capture_output=True, text=True).stdout
    return next(int(line.split()[0]) for line in children.splitlines() if "gpctl" in line)


def check_suspending(service):
    with Terminal(80, 24, service.environment) as terminal:
        terminal.home = service.home
        terminal.run("cd")
        modes = settings_of(terminal)
        watch(terminal, 80)
        terminal.press("C-z")
        terminal.wait_for(lambda screen: "Stopped" in screen)
        expect_restored(terminal, modes)
        terminal.run("fg")
        terminal.wait_for(is_whole(80))
        assert terminal.is_alternate()
        # A stop that no process can catch: the shell has the terminal meanwhile.
        os.kill(gpctl_process(terminal), signal.SIGSTOP)
        terminal.wait_for(lambda screen: "Stopped" in screen)
        terminal.run("fg")
        terminal.wait_for(is_whole(80))
        leave(terminal)
        expect_restored(terminal, modes)


def check_keys(service):
    with Terminal(80, 24, service.environment) as terminal:
        watch(terminal, 80)
        terminal.press("?")
        terminal.wait_for(lambda screen: "pause the run, or resume it; asks first" in screen)
        terminal.press("?")
        terminal.press("l")
        terminal.wait_for(lambda screen: "info gp-trainer evaluation" in screen)
        terminal.press("Escape")
        terminal.wait_for(is_whole(80))
        terminal.press("z")
        terminal.wait_for(lambda screen: "last half" in screen)
        terminal.press("p")
        terminal.wait_for(lambda screen: "Pause gpt2-fineweb? It saves and frees its slots. y/N" in screen)
        terminal.press("n")
        terminal.wait_for(lambda screen: "q leave" in screen)
        terminal.press("p")
        terminal.press("y")
        terminal.wait_for(lambda screen: "gpt2-fineweb saves its last step, then pauses" in screen)
        terminal.press("l")
        terminal.wait_for(lambda screen: "l back" in screen)
        leave(terminal)


def check_scrolling(service):
    """A page scrolls to its last row, no further, and fills a screen that grows."""
    with Terminal(60, 6, service.environment) as terminal:
        terminal.run("gpctl top")
        terminal.wait_for(lambda screen: "q leave" in screen)
        terminal.press("n")
        terminal.wait_for(lambda screen: "node-a" in screen and "2 more" in screen)
        terminal.press("End")
        terminal.wait_for(lambda screen: "node-b" in screen and "node-d" in screen)
        terminal.press("Up")
        terminal.wait_for(lambda screen: "node-a" in screen)
        terminal.press("NPage")
        terminal.wait_for(lambda screen: "node-d" in screen)
        terminal.press("Home")
        terminal.wait_for(lambda screen: "node-a" in screen)
        terminal.press("End")
        terminal.wait_for(lambda screen: "node-d" in screen)
        terminal.resize(60, 12)
        terminal.wait_for(lambda screen: "node-a" in screen and "node-d" in screen)
        terminal.press("q")


def check_input_elsewhere(service):
    """Keys come from the terminal also when the input is a file; in the background there are lines."""
    with Terminal(80, 24, service.environment) as terminal:
        terminal.run("gpctl watch gpt2-fineweb < /dev/null")
        terminal.wait_for(is_whole(80))
        leave(terminal)
        terminal.run("clear; gpctl watch gpt2-fineweb &")
        terminal.wait_for(lambda screen: "step 7362/19073" in screen)
        assert not terminal.is_alternate()
        terminal.run("kill %1")
        terminal.wait_for(lambda screen: "Detached." in screen)


def check_ascii(service):
    with Terminal(80, 24, {**service.environment, "LC_ALL": "C"}) as terminal:
        terminal.run("gpctl watch gpt2-fineweb")
        screen = terminal.wait_for(lambda screen: is_whole(80)(screen) and "validation 3.209" in screen)
        assert screen.isascii(), screen
        leave(terminal)


def check_colours(service):
    with Terminal(80, 24, service.environment) as terminal:
        watch(terminal, 80)
        assert "\x1b[32mRUNNING" in terminal.screen(colours=True)
        leave(terminal)
        terminal.run("clear; NO_COLOR=1 gpctl watch gpt2-fineweb")
        terminal.wait_for(lambda screen: "step 7362/19073" in screen)
        assert not terminal.is_alternate()
        terminal.press("C-c")


def check_pipes(service):
    """Without a terminal there are lines, and no byte that moves a cursor."""
    for command in (["watch", "gpt2-fineweb"], ["watch"], ["top"]):
        process = subprocess.Popen([GPCTL, *command], env=service.environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        text = process.stdout.readline()
        if "gpt2-fineweb" in command:  # the others end by themselves
            process.send_signal(signal.SIGINT)
        text += process.stdout.read()
        process.communicate(timeout=30)
        assert "gpt2-fineweb" in text and "\x1b" not in text, text


def check_end(service):
    """The last numbers of a run that has ended stay on the terminal."""
    with Terminal(80, 24, service.environment) as terminal:
        watch(terminal, 80)
        service.tell("end")
        screen = terminal.wait_for(lambda text: "SUCCEEDED" in text and not terminal.is_alternate())
        assert "checkpoint  step 7,000" in screen, screen
        terminal.run("echo code $?")
        terminal.wait_for(lambda text: "code 0" in text)


CHECKS = [check_sizes, check_top, check_resize, check_leaving, check_suspending, check_keys, check_scrolling, check_input_elsewhere,
          check_ascii, check_colours, check_pipes, check_end]


def main():
    if shutil.which("tmux") is None:
        print("tmux is not installed; scripts/bootstrap --dev installs it")
        sys.exit(77)
    prefix = sys.argv[2] if len(sys.argv) > 2 else ""
    for check in CHECKS:
        if not check.__name__.startswith("check_" + prefix):
            continue
        service = Service(os.path.abspath(sys.argv[1]))
        try:
            check(service)
        finally:
            service.stop()
        print(check.__name__, "ok", flush=True)


if __name__ == "__main__":
    main()
