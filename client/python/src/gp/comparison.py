"""Two runs side by side: the keys that differ, and their losses at equal steps."""

from __future__ import annotations

import dataclasses
import html
import typing

from gp import chart
from gp.plain_yaml import flattened, parse

if typing.TYPE_CHECKING:
    import pandas

    from gp.run import Run


@dataclasses.dataclass(frozen=True)
class EqualStep:
    """The losses of two runs at one step, nats per token."""

    step: int
    a: float
    b: float

    @property
    def difference(self) -> float:
        """Below 0: `b` is better."""
        return self.b - self.a


@dataclasses.dataclass(frozen=True)
class Comparison:
    a: Run
    b: Run
    differences: dict[str, tuple[str | None, str | None]]  # by key of the resolved run files; None: the file lacks the key
    field: str  # "val_loss", or "loss" if the runs were not evaluated at equal steps
    rows: list[EqualStep]  # by step

    def frame(self) -> pandas.DataFrame:
        """The rows as a table. Needs pandas: ImportError without it."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError(
                "comparison.frame() needs pandas ('pip install pandas'); comparison.rows has the same without it"
            ) from error
        return pandas.DataFrame(
            {"a": [row.a for row in self.rows], "b": [row.b for row in self.rows]},
            index=pandas.Index([row.step for row in self.rows], name="step"),
        )

    def __str__(self) -> str:
        lines = [f"a  {self.a!r}", f"b  {self.b!r}"]
        lines += [f"{key}: {_shown(a)} -> {_shown(b)}" for key, (a, b) in self.differences.items()]
        if self.rows:
            last = self.rows[-1]
            lines.append(f"{self.field} at step {last.step}: {last.a:.4f} and {last.b:.4f}, {last.difference:+.4f}")
        else:
            lines.append("no step has a loss of both")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(key)}</td><td>{html.escape(_shown(a))}</td><td>{html.escape(_shown(b))}</td></tr>"
            for key, (a, b) in self.differences.items()
        )
        curves = [
            dataclasses.replace(curve, label=label)
            for label, run in (("a", self.a), ("b", self.b))
            for curve in run.curves(self.field, max_points=400)
        ]
        names = f"<tr><th>{self.field}</th><th>a: {html.escape(self.a.name)}</th><th>b: {html.escape(self.b.name)}</th></tr>"
        return f"<div><table>{names}{rows}</table>{chart.draw(curves)}</div>"


def compare(a: Run, b: Run) -> Comparison:
    """Asks for both runs as they are now."""
    field, rows = "val_loss", _equal_steps(a, b, "val_loss")
    if not rows:
        field, rows = "loss", _equal_steps(a, b, "loss")
    return Comparison(a, b, _differences(a, b), field, rows)


def _equal_steps(a: Run, b: Run, field: str) -> list[EqualStep]:
    [of_a], [of_b] = a.curves(field), b.curves(field)
    values = dict(zip(of_b.steps, of_b.values))
    return [EqualStep(step, value, values[step]) for step, value in zip(of_a.steps, of_a.values) if step in values]


def _differences(a: Run, b: Run) -> dict[str, tuple[str | None, str | None]]:
    of_a, of_b = flattened(parse(a.resolved())), flattened(parse(b.resolved()))
    for run, keys in ((a, of_a), (b, of_b)):
        if run.parent:
            keys["init_from"] = run.parent
    return {key: (of_a.get(key), of_b.get(key)) for key in {**of_a, **of_b} if of_a.get(key) != of_b.get(key)}


def _shown(value: str | None) -> str:
    return "(none)" if value is None else value
