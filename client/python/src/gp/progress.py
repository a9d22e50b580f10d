"""Shows how far a run is: with tqdm where that is installed, otherwise in plain lines on the error stream."""

from __future__ import annotations

import sys
import typing
import warnings

if typing.TYPE_CHECKING:
    from gp.run import Run

_LINES = 10  # plain lines from the first step to the last


class Progress(typing.Protocol):
    def update(self, run: Run) -> None: ...

    def close(self) -> None: ...


class Silent:
    def update(self, run: Run) -> None:
        pass

    def close(self) -> None:
        pass


class PlainLines:
    """A line at every change of state, and at every tenth of the steps."""

    def __init__(self) -> None:
        self._last = ("", -1)

    def update(self, run: Run) -> None:
        tenth = _LINES * run.step // run.target_steps if run.target_steps else -1
        if (run.state, tenth) == self._last:
            return
        self._last = (run.state, tenth)
        print(
            f"{run.name}: {run.state}, step {run.step}/{run.target_steps or '?'}{_measured(run)}", file=sys.stderr, flush=True
        )

    def close(self) -> None:
        pass


class Bar:
    def __init__(self, tqdm: typing.Any) -> None:
        self._bar = tqdm(unit=" steps")

    def update(self, run: Run) -> None:
        self._bar.total = run.target_steps or None
        self._bar.set_description_str(f"{run.name} {run.state}", refresh=False)
        self._bar.set_postfix_str(_measured(run).lstrip(", "), refresh=False)
        self._bar.n = run.step
        self._bar.refresh()

    def close(self) -> None:
        self._bar.close()


def make(wanted: bool | None) -> Progress:
    """`wanted` None: where a person looks, in a terminal or a notebook."""
    if wanted is False or (wanted is None and not sys.stderr.isatty() and not _in_notebook()):
        return Silent()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a notebook without ipywidgets gets bars of text
            import tqdm.auto
    except ImportError:
        return PlainLines()
    return Bar(tqdm.auto.tqdm)


def _in_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"


def _measured(run: Run) -> str:
    loss = f", loss {run.loss:.4f}" if run.loss is not None else ""
    return loss + (f", val {run.val_loss:.4f}" if run.val_loss is not None else "")
