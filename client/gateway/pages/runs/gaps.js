"use strict";
// Values that are NaN or infinite: a curve has a gap there, and the chart a mark at its edge.

const GAP_PIXELS = 12;  // marks of one curve that are closer than this are joined
const GAP_SIZE = 3.5;   // half the width of a mark

// The marks of the curves' gaps: [{run, x, value}], x in pixels. `rows` come from chartRows.
function placedGaps(curves, rows, toX, left, right) {
  const placed = [];
  for (const {run, kind, gaps} of curves) {
    if (kind === "raw") continue;
    let last = -Infinity;
    for (const [row, value] of gaps) {
      const x = toX(rows[row][0]);
      if (x < left || x > right || x - last < GAP_PIXELS) continue;
      placed.push({run, x, value});
      last = x;
    }
  }
  return placed;
}

// The lines of a mark, each a list of points: a cross for NaN and a triangle for an infinity, both at the edge of the
// chart.
function gapLines({x, value}, top, bottom) {
  const s = GAP_SIZE;
  const y = value === -Infinity ? bottom - 2 * s : top + 2 * s;
  if (Number.isNaN(value)) return [[[x - s, y - s], [x + s, y + s]], [[x - s, y + s], [x + s, y - s]]];
  const tip = value > 0 ? -s : s;
  return [[[x - s, y - tip], [x, y + tip], [x + s, y - tip], [x - s, y - tip]]];
}

const gapShapes = (placed, top, bottom) => placed.flatMap((gap) =>
  gapLines(gap, top, bottom).map((points) => stroke(points, {stroke: gap.run.colour, "stroke-width": 1.6})));
