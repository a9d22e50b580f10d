"use strict";
// The names of the runs at the right ends of their curves, for the charts of the page and for the pictures to download.

const END_PIXELS = 15;       // the smallest distance of two names
const END_NAME_PIXELS = 150;  // the longest name

const endsFit = (count, height) => count * END_PIXELS <= height;

// Moves the places of the names, sorted from top to bottom, so that they are at least END_PIXELS apart and between `top`
// and `bottom`. Null if they do not fit.
function spreadEnds(places, top, bottom) {
  if (!endsFit(places.length, bottom - top)) return null;
  const spread = [];
  for (const place of places) spread.push(Math.max(place, (spread.at(-1) ?? top - END_PIXELS / 2) + END_PIXELS));
  for (let i = spread.length - 1, below = bottom + END_PIXELS / 2; i >= 0; i -= 1) {
    spread[i] = Math.min(spread[i], below - END_PIXELS);
    below = spread[i];
  }
  return spread;
}

// The last point of each run's main curve that is not right of `to`: [{run, x, y}]. `rows` come from chartRows.
function curveEnds(curves, rows, [from, to]) {
  const ends = [];
  curves.forEach(({run, kind}, i) => {
    if (kind !== "main") return;
    const last = rows.findLast((row) => row[0] <= to && isNumber(row[i + 1]));
    if (last && last[0] >= from) ends.push({run, x: last[0], y: last[i + 1]});
  });
  return ends;
}

// The ends with their places in pixels: [{run, x, y, label}], from top to bottom; `label` is where the name goes. Empty if
// the names do not fit.
function placedEnds(ends, toX, toY, top, bottom) {
  const placed = ends.map(({run, x, y}) => ({run, x: toX(x), y: Math.min(bottom, Math.max(top, toY(y)))}));
  placed.sort((one, other) => one.y - other.y);
  const labels = spreadEnds(placed.map(({y}) => y), top, bottom);
  return labels ? placed.map((end, i) => ({...end, label: labels[i]})) : [];
}

// The width that the names need at the right of a chart that is `width` pixels wide.
function endsWidth(names, width, font) {
  const longest = Math.max(...names.map((name) => textWidth(name, font)));
  return Math.ceil(Math.min(longest, END_NAME_PIXELS, width * 0.25)) + 18;
}

// A leader from the end of each curve to its name. `right` and `width`: the right edge of the chart's area, and of the space
// beside it for the names; `font` and `colour` of the names.
function endShapes(placed, {right, width, font, colour}) {
  return placed.flatMap(({run, x, y, label}) => [
    stroke([[x, y], [right, y], [right + 6, label]], {stroke: run.colour, "stroke-dasharray": "2 3", "stroke-opacity": 0.55}),
    line(right + 6, label, right + 13, label,
      {stroke: run.colour, "stroke-width": 3, "stroke-dasharray": run.dotted ? DOTS.join(" ") : null}),
    words(right + 16, label, fittedText(run.name, width - 18, font), {fill: colour}),
  ]);
}
