"use strict";
// Turns points into the rows of a chart. All charts share one list of x values, so that row n is the same step or time in
// each.

// Units for a time axis: [longest span in seconds, seconds per unit, name].
const TIME_UNITS = [[600, 1, "s"], [5 * 3600, 60, "min"], [5 * 86400, 3600, "h"], [Infinity, 86400, "days"]];
const timeUnit = (span) => TIME_UNITS.find(([limit]) => span <= limit);

// The horizontal axes. `values(points, begin)` returns the x value of each point; `begin` is the time of the run's first
// point.
const AXES = {
  step: {title: "Step", values: (points) => points.step},
  tokens: {title: "Tokens", values: (points) => points.tokens},
  time: {title: "Wall time", values: (points, begin) => points.at.map((at) => at - begin)},  // in seconds
};

const xValues = (points, begin, axis) => AXES[axis].values(points, begin);

// "NaN", "∞" or "−∞".
const notFiniteText = (value) => Number.isNaN(value) ? "NaN" : value > 0 ? "∞" : "−∞";
const isNotFinite = (value) => typeof value === "number" && !Number.isFinite(value);

// The x values of all runs, sorted and without duplicates. `runs`: [{id, points, begin}].
function sharedX(runs, axis) {
  if (runs.length === 1) return xValues(runs[0].points, runs[0].begin, axis);
  const all = new Set();
  for (const run of runs) for (const x of xValues(run.points, run.begin, axis)) all.add(x);
  return Float64Array.from(all).sort();
}

// An exponential moving average with bias correction, so that it does not start near zero. Missing values and values that
// are not finite stay as they are.
function smoothed(values, weight) {
  let sum = 0;
  let total = 0;
  return values.map((value) => {
    if (!isNumber(value)) return value;
    sum = weight * sum + (1 - weight) * value;
    total = weight * total + (1 - weight);
    return sum / total;
  });
}

// With more runs than this, only the smoothed curves are drawn: the measured ones would hide them.
const RAW_RUNS_MAX = 4;

// The curves of one chart: for each run its values, also smoothed if asked for, and the chart's second metric if it has one.
function curvesOf(chart, runs, smoothing) {
  const curves = [];
  for (const run of runs) {
    const values = chart.score ? run.points.scores.map((scores) => scores?.[chart.metric] ?? null)
      : run.points[chart.metric];
    if (smoothing > 0 && chart.smooth) {
      if (runs.length <= RAW_RUNS_MAX) curves.push({run, kind: "raw", values});
      curves.push({run, kind: "main", values: smoothed(values, smoothing), measured: values});
    } else {
      curves.push({run, kind: "main", values});
    }
    if (chart.second) curves.push({run, kind: "second", values: run.points[chart.second]});
  }
  return curves;
}

// The names of all scores in the runs' points (bits per byte and eval.tasks), sorted.
function scoreNames(runs) {
  const names = new Set();
  for (const run of runs) for (const scores of run.points.scores) for (const name in scores ?? {}) names.add(name);
  return [...names].sort();
}

// Rows for the chart library: [x, curve 0, curve 1, …]. A value that is not finite becomes NaN, which the library draws as
// a gap. Sets `gaps` of each curve, the values that are not finite by row, and `seen`, the measured values by row if the
// curve is smoothed.
function chartRows(curves, shared, axis, scale) {
  const places = new Map(Array.from(shared, (x, row) => [x, row]));
  const rows = Array.from(shared, (x) => {
    const row = new Array(curves.length + 1).fill(null);
    row[0] = x / scale;
    return row;
  });
  curves.forEach((curve, column) => {
    curve.gaps = new Map();
    curve.seen = curve.measured ? new Map() : null;
    xValues(curve.run.points, curve.run.begin, axis).forEach((x, i) => {
      const value = curve.values[i];
      if (typeof value !== "number") return;
      const place = places.get(x);
      rows[place][column + 1] = isNumber(value) ? value : NaN;
      if (isNotFinite(value)) curve.gaps.set(place, value);
      curve.seen?.set(place, curve.measured[i]);
    });
  });
  return rows;
}
