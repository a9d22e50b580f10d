"""gp-sink: writes runs to other tools. `gpctl sink` runs it; it takes the same arguments."""

from __future__ import annotations

import argparse
import collections.abc
import signal
import sys
import threading

import gp
from gp.errors import Error, InvalidRequest, NotAllowed, NotFound, Unreachable
from gp.records import shown
from gp.sinks.export import Export, Sink
from gp.sinks.mlflow_server import MlflowServer
from gp.sinks.wandb_directory import WandbDirectory

_PAUSE_SECONDS = 5.0  # between two looks at the records
# The exit codes of gpctl (lib/base/exit_code.h).
_OK, _FAILURE = 0, 1
_EXIT_CODES: dict[type[Exception], int] = {InvalidRequest: 2, NotFound: 3, NotAllowed: 4, Unreachable: 6}


def main(arguments: collections.abc.Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: stopped.set())
    try:
        with gp.connect(
            options.server, context=options.context, state_dir=options.state_dir, namespace=options.namespace
        ) as client:
            exports = [Export(client.run(name), _sink(options)) for name in options.runs]
            return _follow(exports, stopped) if options.follow else _write_once(exports)
    except (Error, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return _exit_code(error)


def _parser() -> argparse.ArgumentParser:
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("runs", nargs="+", metavar="RUN", help="name, id, unique prefix of an id, or @last")
    shared.add_argument("--follow", action="store_true", help="go on until the runs have ended")
    for flag, text in (
        ("--server", "HOST:PORT or unix:PATH of the coordinator"),
        ("--context", "named context of gpctl"),
        ("--state-dir", "state directory of a local service"),
        ("--namespace", "namespace of the runs"),
    ):
        shared.add_argument(flag, help=text)
    parser = argparse.ArgumentParser(prog="gp-sink", description="Writes runs of gp to other tools.")
    tools = parser.add_subparsers(dest="tool", required=True)
    wandb = tools.add_parser("wandb", parents=[shared], help="W&B: offline directories for 'wandb sync'")
    wandb.add_argument("--output", default=".", metavar="DIR", help="its folder 'wandb' gets a directory for each run (.)")
    wandb.add_argument("--project", default="gp", help="project in W&B (gp)")
    mlflow = tools.add_parser("mlflow", parents=[shared], help="MLflow: a tracking server")
    mlflow.add_argument("--to", required=True, metavar="URI", help="of the server: http://HOST:5000")
    mlflow.add_argument("--experiment", default="gp", help="experiment in MLflow (gp)")
    return parser


def _sink(options: argparse.Namespace) -> Sink:
    if options.tool == "wandb":
        return WandbDirectory(options.output, options.project)
    return MlflowServer(options.to, options.experiment)


def _write_once(exports: list[Export]) -> int:
    code = _OK
    for export in exports:
        try:
            export.update()
            export.close()
        except Error:
            raise
        except Exception as error:  # of the tool's package
            _say(f"error: {export.run.name}: {_text_of(error)}")
            code = _FAILURE
        else:
            _report(export)
    return code


def _follow(exports: list[Export], stopped: threading.Event) -> int:
    troubles: dict[Export, str] = {}
    while exports:
        exports = [export for export in exports if not _advance(export, troubles)]
        if exports and stopped.wait(_PAUSE_SECONDS):
            break
    for export in exports:
        export.close()
        _report(export)
    return _FAILURE if troubles else _OK


def _advance(export: Export, troubles: dict[Export, str]) -> bool:
    """Whether nothing is left to do for the run. An error is said once and the attempt repeated later."""
    try:
        export.update()
        if not export.run.has_ended:
            troubles.pop(export, None)
            return False
        export.close()
    except Exception as error:
        export.forget()
        text = _text_of(error)
        if isinstance(error, (NotFound, NotAllowed)):  # the run was deleted, or the token revoked
            _say(f"error: {export.run.name}: {text}")
            troubles[export] = text
            return True
        if troubles.get(export) != text:
            _say(f"warning: {export.run.name}: {text}; trying again until it works")
        troubles[export] = text
        return False
    troubles.pop(export, None)
    _report(export)
    return True


def _report(export: Export) -> None:
    what = f"{export.written} steps written to" if export.written else "nothing new for"
    print(f"{export.run.name} ({export.run.id}): {what} {export.sink.place}", flush=True)


def _text_of(error: Exception) -> str:
    """The error on one line; those of network libraries have several."""
    return shown(" ".join(str(error).split())) or type(error).__name__


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _exit_code(error: Exception) -> int:
    return next((code for kind, code in _EXIT_CODES.items() if isinstance(error, kind)), _FAILURE)


if __name__ == "__main__":
    sys.exit(main())
