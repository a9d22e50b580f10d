"""A small chart of curves as SVG, for notebooks. Pure."""

from __future__ import annotations

import collections.abc
import dataclasses
import html
import math

_WIDTH, _HEIGHT = 520, 180
_LEFT, _RIGHT, _TOP, _BOTTOM = 48, 84, 10, 24
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")  # told apart by colour-blind people, on light and dark


@dataclasses.dataclass(frozen=True)
class Curve:
    """Values over steps. A value that is not finite is a gap."""

    label: str
    steps: collections.abc.Sequence[int]
    values: collections.abc.Sequence[float]


def draw(curves: collections.abc.Sequence[Curve]) -> str:
    """The chart; empty if no curve has a finite value. At most four curves."""
    places = [(step, value) for curve in curves for step, value in zip(curve.steps, curve.values) if math.isfinite(value)]
    if not places:
        return ""
    frame = _Frame(
        min(step for step, _ in places),
        max(step for step, _ in places),
        min(value for _, value in places),
        max(value for _, value in places),
    )
    parts = [_axes(frame)]
    parts += [_line(curve, colour, frame) for curve, colour in zip(curves, _COLOURS)]
    parts += _labels(curves, frame)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'font-family="sans-serif" font-size="11" fill="currentColor" role="img">{"".join(parts)}</svg>'
    )


@dataclasses.dataclass(frozen=True)
class _Frame:
    first: int
    last: int
    low: float
    high: float

    def x(self, step: int) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * (step - self.first) / max(self.last - self.first, 1)

    def y(self, value: float) -> float:
        span = self.high - self.low
        share = (value - self.low) / span if span > 0 else 0.5
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * share


def _axes(frame: _Frame) -> str:
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    lines = f'<path d="M{_LEFT} {_TOP}V{bottom}H{right}" fill="none" stroke="currentColor" stroke-opacity="0.4"/>'
    texts = [
        (_LEFT - 5, _TOP + 9, "end", f"{frame.high:.4g}"),
        (_LEFT - 5, bottom, "end", f"{frame.low:.4g}"),
        (_LEFT, _HEIGHT - 8, "start", str(frame.first)),
        (right, _HEIGHT - 8, "end", f"step {frame.last}"),
    ]
    return lines + "".join(f'<text x="{x}" y="{y}" text-anchor="{anchor}">{text}</text>' for x, y, anchor, text in texts)


def _line(curve: Curve, colour: str, frame: _Frame) -> str:
    path, is_open = "", False
    for step, value in zip(curve.steps, curve.values):
        if math.isfinite(value):
            path += f"{'L' if is_open else 'M'}{frame.x(step):.1f} {frame.y(value):.1f}"
        is_open = math.isfinite(value)
    # A single point is a line of no length, which a round cap shows as a dot.
    return f'<path d="{path}h0" fill="none" stroke="{colour}" stroke-width="1.5" stroke-linecap="round"/>' if path else ""


def _labels(curves: collections.abc.Sequence[Curve], frame: _Frame) -> list[str]:
    """Each label at the end of its line, moved down where two would overlap."""
    ends = []
    for curve, colour in zip(curves, _COLOURS):
        last = next((value for value in reversed(curve.values) if math.isfinite(value)), None)
        if last is not None:
            ends.append((frame.y(last), curve.label, colour))
    texts, least = [], float(_TOP)
    for y, label, colour in sorted(ends):
        least = max(y, least)
        texts.append(f'<text x="{_WIDTH - _RIGHT + 5}" y="{least + 4:.1f}" fill="{colour}">{html.escape(label)}</text>')
        least += 13
    return texts
