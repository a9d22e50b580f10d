"""gpctl watch of a real run on a terminal: it redraws in place, Ctrl-C detaches with exit code 130, the run goes on.
screen/screens_test.py looks at the screens.

Usage: live_screen_test.py FAKE_TRAINER. Starts a service of its own in a temporary home and stops it again.
"""
import io
import os
import pty
import shutil
import subprocess
import sys
import tempfile
import threading

try:
    import pexpect
except ImportError:
    print("python3-pexpect is not installed")
    sys.exit(77)

GPCTL = os.path.join(os.environ["GP_BIN"], "gpctl")
# With gpctl on $PATH, the suggested commands name it without its path.
os.environ["PATH"] = os.environ["GP_BIN"] + os.pathsep + os.environ["PATH"]
RUN_FILE = """apiVersion: gp/v1
name: live
model: {n_layer: 1, n_head: 1, n_embd: 16, n_ctx: 16}
data: {text: [input.txt]}
batch: {micro_batch: 1, sequence: 16}
budget: {steps: 10000000}
labels: {fake-step-ms: "20"}
"""


def gpctl(*arguments, check=True):
    return subprocess.run([GPCTL, *arguments], check=check, capture_output=True, text=True)


def expect_screen(environment):
    """Returns the terminal's bytes up to the end of a `watch` that Ctrl-C ended."""
    child = pexpect.spawn(GPCTL, ["watch", "live"], env=environment, dimensions=(24, 80), timeout=60, encoding="utf-8")
    child.logfile_read = io.StringIO()
    child.expect(r"live  \x1b\[32mRUNNING\x1b\[0m  ")
    child.expect("loss")
    child.expect("leave")
    child.expect(r"step [\d,]+/10,000,000")  # a second drawing
    child.sendintr()
    child.expect("Detached. live continues.")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 130, child.exitstatus
    return child.logfile_read.getvalue()


def check_screen():
    environment = dict(os.environ, TERM="xterm", LANG="C.UTF-8", LC_ALL="C.UTF-8")
    child_text = expect_screen(environment)
    assert child_text.startswith("\x1b[?1049h") and "\x1b[?1049l" in child_text, child_text
    assert "┤" in child_text, "no curve"
    state = gpctl("status", "live").stdout
    assert "RUNNING" in state, state


def check_pipes():
    watch = subprocess.Popen([GPCTL, "watch", "live", "--interval", "200ms"], stdout=subprocess.PIPE)
    never = threading.Timer(60, watch.kill)
    never.start()
    text = b""
    while b"step " not in text:
        piece = watch.stdout.read1(4096)
        assert piece, text
        text += piece
    never.cancel()
    watch.kill()
    watch.wait()
    assert b"\x1b" not in text, text


def require_terminal():
    try:
        for descriptor in pty.openpty():
            os.close(descriptor)
    except OSError as error:
        print(f"no pseudo-terminal can be opened here: {error}")
        sys.exit(77)


def main():
    require_terminal()
    home = tempfile.mkdtemp(prefix="gpctl-live-")
    os.environ.update(HOME=home)
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "GPCTL_SERVER", "GPCTL_STATE_DIR", "NO_COLOR"):
        os.environ.pop(name, None)
    try:
        run_file = os.path.join(home, "run.yaml")
        with open(run_file, "w") as file:
            file.write(RUN_FILE)
        with open(os.path.join(home, "input.txt"), "w") as file:
            file.write("the quick brown fox\n" * 2000)
        gpctl("up", "--detach", "--workers", "1", "--trainer", os.path.abspath(sys.argv[1]))
        gpctl("submit", run_file)
        gpctl("wait", "live", "--for", "step=5", "--longest", "120s")
        check_screen()
        check_pipes()
        gpctl("cancel", "live")
        ended = gpctl("watch", "live", check=False)
        assert ended.returncode == 8, (ended.returncode, ended.stderr)
    finally:
        gpctl("down", check=False)
        shutil.rmtree(home)
    print("live screen ok")


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        print(error.stdout, error.stderr, file=sys.stderr)
        raise
