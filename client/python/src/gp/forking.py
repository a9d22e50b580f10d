"""The overrides with which a fork begins: those of `gpctl fork` (client/gpctl/commands/legs/fork_run_file.cc)."""

from __future__ import annotations

import collections.abc
import dataclasses
import posixpath

from gp.errors import InvalidRequest
from gp.plain_yaml import flattened, parse
from gp.run_file import Value, override_text
from gp.v1 import run_pb2


@dataclasses.dataclass(frozen=True)
class ForkRequest:
    overrides: collections.abc.Mapping[str, Value]
    steps: int | str | None  # the fork's last step, or "+N"; None: as the parent
    tokens: int | None  # the fork's tokens with the parent's; None: as the parent
    reset_optimizer: bool
    reset_data: bool


def fork_overrides(leg: run_pb2.Leg, checkpoint: run_pb2.Checkpoint, request: ForkRequest) -> list[str]:
    """`leg` is the one that wrote the checkpoint. Raises InvalidRequest for what a fork cannot change."""
    parent = flattened(parse(leg.resolved))
    given = {key: override_text(value, key) for key, value in request.overrides.items()}
    changed = [key for key, text in given.items() if not _is_same(text, parent.get(key))]
    _check_changes(changed, request)
    resets_data = request.reset_data or any(_is_of_data(key, parent) for key in changed)
    begin = [
        f"init_from={checkpoint.directory}",
        f"init_optimizer={'reset' if request.reset_optimizer else 'keep'}",
        f"init_data={'reset' if resets_data else 'keep'}",
        f"data.tokenizer={_tokenizer(parent, checkpoint)}",
    ]
    first_step = 0 if resets_data else checkpoint.step
    return (
        begin
        + _budget(request, parent, leg.target_steps, first_step, given)
        + _workers(parent, given)
        + [f"{key}={text}" for key, text in given.items()]
    )


def _check_changes(changed: list[str], request: ForkRequest) -> None:
    for key in changed:
        if key in ("init_from", "init_optimizer", "init_data"):
            raise InvalidRequest(f"{key}: run.fork() sets it; see its arguments step, reset_optimizer and reset_data")
        if key.startswith("model.") and key != "model.dropout":
            raise InvalidRequest(f"{key}: a fork has the model of its checkpoint; submit() trains another one from scratch")
        if key == "data.tokenizer":
            raise InvalidRequest(f"{key}: a fork has the tokenizer of its checkpoint")
        if key in ("optimizer.kind", "train") and not request.reset_optimizer:
            raise InvalidRequest(
                f"{key}: the optimizer's state in the checkpoint does not fit; begin with a new one: reset_optimizer=True"
            )


def _is_same(text: str, parents: str | None) -> bool:
    if text == parents:
        return True
    try:
        return parents is not None and float(text) == float(parents)
    except ValueError:
        return False


def _is_of_data(key: str, parent: dict[str, str]) -> bool:
    of_passes = key == "batch.sequence" and parent.get("data.order") == "shuffled"
    return key.startswith("data.") or key == "seed" or of_passes


def _tokenizer(parent: dict[str, str], checkpoint: run_pb2.Checkpoint) -> str:
    """One that the parent took from a checkpoint may be gone; each checkpoint has a copy of its own."""
    named = parent.get("data.tokenizer", "")
    return posixpath.join(checkpoint.directory, "tokenizer.json") if "/checkpoints/" in named else named


def _budget(
    request: ForkRequest, parent: dict[str, str], parent_steps: int, first_step: int, given: dict[str, str]
) -> list[str]:
    if request.steps is not None and request.tokens is not None:
        raise InvalidRequest("steps and tokens exclude each other")
    if request.steps is None and request.tokens is None:
        if 0 < parent_steps <= first_step and not any(key.startswith("budget.") for key in given):
            raise InvalidRequest(
                f"the checkpoint is at step {first_step}, and the budget is {parent_steps} steps: nothing is "
                f"left to train; give the fork more: steps='+{parent_steps}'"
            )
        return []
    steps = 0 if request.steps is None else total_steps(request.steps, first_step)
    if 0 < steps <= first_step:
        raise InvalidRequest(f"steps={steps}: the checkpoint is at step {first_step} already")
    texts = [f"budget.steps={steps}", f"budget.tokens={request.tokens or 0}", "budget.wall_time=0s"]
    has_horizon = any(parent.get(key, "0") != "0" for key in ("schedule.decay_steps", "schedule.decay_tokens"))
    has_horizon = has_horizon or any(key.startswith("schedule.decay_") for key in given)
    if parent_steps > 0 and first_step > 0 and steps != parent_steps and not has_horizon:
        texts.append(f"schedule.decay_steps={parent_steps}")  # the learning rate's schedule keeps its end
    return texts


def total_steps(steps: int | str, first_step: int) -> int:
    """500 for 500, first_step + 200 for "+200". Raises InvalidRequest."""
    text = str(steps)
    number = text.removeprefix("+")
    if not (number.isascii() and number.isdigit() and int(number) > 0):
        raise InvalidRequest(f"steps={steps!r}: expected the total, such as 500, or what is added, such as '+200'")
    return int(number) + (first_step if text.startswith("+") else 0)


def _workers(parent: dict[str, str], given: dict[str, str]) -> list[str]:
    """The resolved file has limits that followed from the parent's number of ranks."""
    workers = given.get("resources.workers", "")
    if not workers.isdigit():
        return []
    texts = []
    if int(workers) > int(parent.get("resources.max_workers", "0")):
        texts.append("resources.max_workers=0")
    if int(workers) < int(parent.get("resources.min_workers", "0")):
        texts.append("resources.min_workers=0")
    return texts
