"use strict";
// The points of the runs that are shown, decimated by the server: one set for the whole run and, while the charts are
// zoomed, one for the window. New points of a live run are added at the end.

// At most about this many points are drawn for all runs together, so that the page stays responsive with many runs.
const DRAWN_POINTS_MAX = 6000;

const NOT_FINITE = {nan: NaN, inf: Infinity, "-inf": -Infinity};

// Turns the strings of numbers that JSON cannot express into numbers, in place. Returns `points`.
function readNotFinite(points) {
  const read = (value) => typeof value === "string" ? NOT_FINITE[value] : value;
  for (const name of columnNames(points)) {
    points[name].forEach((value, i) => {
      if (typeof value === "string") points[name][i] = read(value);
      else if (name === "scores" && value) for (const score in value) value[score] = read(value[score]);
    });
  }
  return points;
}

class PointStore {
  constructor() {
    this.sets = new Map();  // run id -> {whole, window, from, to, asked}
    this.width = 1000;      // of a chart, in pixels
    this.runs = 1;          // that are drawn together
  }

  // The number of points to request for each run.
  get count() {
    return Math.round(Math.min(5000, Math.max(50, Math.min(this.width, DRAWN_POINTS_MAX / this.runs))));
  }

  set(id) {
    if (!this.sets.has(id)) this.sets.set(id, {whole: null, window: null, asked: 0, windowAsked: 0});
    return this.sets.get(id);
  }

  // The points to draw: the window's, which are finer, if they are loaded; otherwise those of the whole run.
  shown(id) {
    const set = this.sets.get(id);
    return set ? set.window || set.whole : null;
  }

  whole(id) {
    return this.sets.get(id)?.whole || null;
  }

  async fetch(id, range) {
    const query = new URLSearchParams({points: this.count, ...range});
    return readNotFinite(await askJson(`api/v1/runs/${encodeURIComponent(id)}/points?${query}`));
  }

  // Loads the points of the whole run. Drops the response if a newer request was made meanwhile.
  async loadWhole(id) {
    const set = this.set(id);
    const number = ++set.asked;
    const points = await this.fetch(id, {});
    if (number === set.asked) set.whole = points;
  }

  async loadWindow(id, from, to) {
    const set = this.set(id);
    const number = ++set.windowAsked;
    const points = await this.fetch(id, {from, to});
    if (number === set.windowAsked) Object.assign(set, {window: points, from, to});
  }

  dropWindow(id) {
    const set = this.set(id);
    set.windowAsked += 1;
    set.window = null;
  }

  // Adds live points. Returns true if there are now so many that the whole run should be loaded again, decimated.
  append(id, columns) {
    const set = this.set(id);
    if (!set.whole) return false;
    readNotFinite(columns);
    appendColumns(set.whole, columns, -Infinity, Infinity);
    if (set.window) appendColumns(set.window, columns, set.from, set.to);
    return set.whole.step.length > 2.5 * this.count;
  }
}

// Appends points with steps from `first` to `last`. Skips points that a request has fetched already. If a step comes again
// with a later time, the run repeated it after a restart: the old points from this step on are removed first.
function appendColumns(target, columns, first, last) {
  const names = columnNames(target);
  columns.step.forEach((step, i) => {
    if (target.step.length > 0 && step <= target.step.at(-1)) {
      if (columns.at[i] <= target.at.at(-1)) return;
      cutFrom(target, names, step);
    }
    if (step < first || step > last) return;
    for (const name of names) target[name].push(columns[name]?.[i] ?? null);
  });
}

function cutFrom(target, names, step) {
  const length = lowerBound(target.step, step);
  for (const name of names) target[name].length = length;
}

// The names of the columns in the server's points: step, at, loss and so on.
function columnNames(points) {
  return Object.keys(points).filter(name => Array.isArray(points[name]));
}

// The index of the first value that is not below `value`.
function lowerBound(values, value) {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

// The step that a run had reached at the time `at`, according to its points.
function stepAt(points, at) {
  if (!points || points.step.length === 0) return null;
  const i = lowerBound(points.at, at);
  return points.step[Math.min(i, points.step.length - 1)];
}
