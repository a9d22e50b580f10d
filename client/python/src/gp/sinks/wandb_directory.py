"""A run as an offline directory of W&B, which `wandb sync` uploads.

`wandb sync` of a directory replaces what the server has of the same run, so parts cannot be added to it. Therefore one
directory holds the whole run: when the records have more than a finished directory, a new one is written, and then the old
one is removed.
"""

from __future__ import annotations

import collections.abc
import json
import os
import pathlib
import shutil
import typing

from gp.plain_yaml import Tree, typed
from gp.records import Point
from gp.sinks.export import Facts, values_of
from gp.sinks.packages import load

_MARK = "gp-sink.json"  # in a finished directory: the facts that it shows
_TAG_CHARACTERS_MAX = 64
_TEXTS = ("name", "namespace")  # keys whose values stay text
_EXIT_CODES = {"failed": 1, "cancelled": 1}  # W&B shows such a run as failed


class WandbDirectory:
    def __init__(self, folder: str, project: str) -> None:
        """The run's directory is made in FOLDER/wandb."""
        self._wandb = load("wandb")
        self._folder = pathlib.Path(os.path.abspath(folder))
        self._project = project
        self._run: typing.Any = None  # of wandb, while its directory is written
        self._shown: dict[str, object] = {}
        self.place = ""

    def is_complete(self, facts: Facts) -> bool:
        for directory in self._directories(facts.id):
            if _read_mark(directory) == _mark_of(facts):
                self.place = str(directory)
                return True
        return False

    def begin(self, facts: Facts) -> dict[int, float]:
        if self._run is not None:  # an attempt before this one failed
            self._run.finish()
        self._folder.mkdir(parents=True, exist_ok=True)
        settings = self._wandb.Settings(
            mode="offline", silent=True, console="off", disable_git=True, disable_code=True, x_disable_stats=True
        )
        self._shown = _shown(facts)
        self._run = self._wandb.init(
            project=self._project,
            id=facts.id,
            dir=str(self._folder),
            reinit="create_new",
            settings=settings,
            job_type="train",
            group=facts.labels.get("sweep"),
            **self._shown,
        )
        self.place = str(pathlib.Path(self._run.dir).parent)
        return {}

    def start_over(self, facts: Facts) -> None:
        self.begin(facts)

    def may_lack(self, step: int) -> bool:
        return False

    def write(self, facts: Facts, points: collections.abc.Iterable[Point]) -> int:
        written = 0
        for point in points:
            written += 1
            self._run.log({**values_of(point), "_timestamp": point.at.timestamp()}, step=point.step)
        now = _shown(facts)
        if now != self._shown:
            self._shown = now
            self._run.config.update(now["config"], allow_val_change=True)
            self._run.tags, self._run.notes = now["tags"], now["notes"]
        return written

    def close(self, facts: Facts) -> None:
        self._run.finish(exit_code=_EXIT_CODES.get(facts.state, 0))
        self._run = None
        written = pathlib.Path(self.place)
        (written / _MARK).write_text(json.dumps(_mark_of(facts)), encoding="utf-8")
        for other in self._directories(facts.id):
            if other != written:
                shutil.rmtree(other)

    def _directories(self, run_id: str) -> list[pathlib.Path]:
        return sorted((self._folder / "wandb").glob(f"offline-run-*-{run_id}"))


def _shown(facts: Facts) -> dict[str, object]:
    """The arguments of wandb.init that may change while a run trains."""
    config = _typed_tree(facts.newest_run_file)
    config["gp"] = {"run": facts.id, "namespace": facts.namespace, "user": facts.user, "parent": facts.parent}
    tags = [f"{key}={value}"[:_TAG_CHARACTERS_MAX] for key, value in sorted(facts.labels.items())]
    return {"name": facts.name, "config": config, "tags": tags, "notes": facts.note}


def _typed_tree(tree: Tree) -> dict[str, object]:
    return {
        key: _typed_tree(value) if isinstance(value, dict) else value if key in _TEXTS else typed(value)
        for key, value in tree.items()
    }


def _mark_of(facts: Facts) -> dict[str, object]:
    return {"step": facts.step, "epoch": facts.epoch, "state": facts.state, **_shown(facts)}


def _read_mark(directory: pathlib.Path) -> object:
    try:
        return json.loads((directory / _MARK).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
