"use strict";
// The charts, which share their style, their zoom window and their crosshair.

function fineNumber(value) {
  if (isNotFinite(value)) return notFiniteText(value);
  if (!isNumber(value)) return "–";
  return Math.abs(value) >= 100 ? grouped(value) : String(Number(value.toPrecision(4)));
}

function rateText(value) {
  const tiny = isNumber(value) && value !== 0 && Math.abs(value) < 1e-2;
  return tiny ? Number(value.toPrecision(3)).toExponential() : fineNumber(value);
}

const shareText = (value) => isNumber(value) ? `${Number((value * 100).toFixed(1))}%` : "–";

const CHARTS = [
  {metric: "loss", second: "validation_loss", title: "Loss", note: "nats per token · dashed: validation", unit: "nats per token",
    smooth: true, log: true, format: fineNumber},
  {metric: "tokens_per_second", title: "Throughput", note: "tokens/s", unit: "tokens/s", smooth: true, zero: true,
    format: shortNumber},
  {metric: "mfu", title: "MFU", note: "share of the peak", unit: "share of the peak", smooth: true, zero: true,
    format: shareText},
  {metric: "learning_rate", title: "Learning rate", note: "", zero: true, format: rateText},
  {metric: "gradient_norm", title: "Gradient norm", note: "", smooth: true, format: fineNumber},
];
const SCORE_TITLES = {val_bpb: "Bits per byte"};
const READOUT_RUNS_MAX = 6;  // with more runs, a chart shows the values of the open run alone
const PLAIN_GAP = 12;     // pixels at the right of a chart without names
const AXIS_HEIGHT = 28;  // pixels below a chart's area
const DOTS = [2, 3];
const END_FONT = "12px system-ui, sans-serif";  // equal to .layer's in the style sheet
const CURVE_LOOKS = {
  raw: {strokeWidth: 1, highlightCircleSize: 0},
  main: {strokeWidth: 2, highlightCircleSize: 3.5},
  second: {strokeWidth: 1.6, strokeBorderWidth: 1.5, highlightCircleSize: 3.5, strokePattern: [6, 4], drawPoints: true,
    pointSize: 2},
};

// Ticks of a logarithmic axis: each power of ten and, if there is room, multiples of it. If less than a decade is visible:
// ticks at equal distances.
function logTicks(low, high, room) {
  for (const digits of [[1, 2, 3, 4, 5, 6, 7, 8, 9], [1, 2, 5], [1]]) {
    const ticks = decadeTicks(low, high, digits);
    if (ticks.length >= 4 && ticks.length <= room) return ticks;
  }
  if (high < 10 * low) return low < high ? evenTicks(low, high, room) : [low];
  const decades = decadeTicks(low, high, [1]);
  const every = Math.ceil(decades.length / room);
  return decades.filter((_, i) => i % every === 0);
}

function decadeTicks(low, high, digits) {
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; power += 1) {
    ticks.push(...digits.map((digit) => Number(`${digit}e${power}`)).filter((tick) => tick >= low && tick <= high));
  }
  return ticks;
}

function evenTicks(low, high, room) {
  const least = (high - low) / Math.max(1, room);
  const power = 10 ** Math.floor(Math.log10(least));
  const step = power * [1, 2, 5, 10].find((digit) => digit * power >= least);
  const first = Math.ceil(low / step);
  return Array.from({length: Math.floor(high / step) - first + 1}, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

// The range of the values without the lowest and the highest 2%, plus a margin; null if there are no values.
const OUTLIER_SHARE = 0.02;
function usualRange(values, onLogScale) {
  const sorted = values.filter((value) => isNumber(value) && (!onLogScale || value > 0)).sort((one, other) => one - other);
  if (sorted.length === 0) return null;
  const at = (share) => sorted[Math.round(share * (sorted.length - 1))];
  const scaled = [at(OUTLIER_SHARE), at(1 - OUTLIER_SHARE)].map((value) => onLogScale ? Math.log(value) : value);
  const margin = (scaled[1] - scaled[0]) * 0.08 || Math.abs(scaled[1]) * 0.1 || 1;
  return [scaled[0] - margin, scaled[1] + margin].map((value) => onLogScale ? Math.exp(value) : value);
}

// Remove the library's legend: the page has its own, and the policy forbids the style attributes that this one sets.
Dygraph.PLUGINS = Dygraph.PLUGINS.filter((plugin) => plugin !== Dygraph.Plugins.Legend);

// The actual colour of a CSS expression such as var(--line) in the current theme.
function themeColour(expression) {
  const probe = $("#main");
  probe.style.setProperty("outline-color", expression);
  const colour = getComputedStyle(probe).outlineColor;
  probe.style.removeProperty("outline-color");
  return colour;
}

function faded(colour, alpha) {
  const parts = colour.match(/[\d.]+/g);
  return `rgba(${parts[0]}, ${parts[1]}, ${parts[2]}, ${alpha})`;
}

class Chart {
  // `group` is the ChartGroup that this chart belongs to.
  constructor(description, group) {
    this.description = description;
    this.group = group;
    this.readout = node("span", {class: "readout number", "aria-hidden": "true"});
    this.pictures = node("span", {class: "pictures"}, ...Object.keys(PICTURE_KINDS).map((kind) =>
      node("button", {class: "plain compact", "aria-label": `Download the chart ${description.title} as ${kind}`,
        title: `Download as ${kind}`, onclick: () => downloadPicture(this, kind)}, kind)));
    this.canvas = node("div", {class: "canvas"});
    this.layer = shape("svg", {class: "layer", "aria-hidden": "true"});
    this.crosshair = node("div", {class: "crosshair", hidden: true});
    this.selection = node("div", {class: "selection", hidden: true});
    this.marks = node("div", {class: "marks"});
    this.empty = node("p", {class: "muted nothing"}, "No points yet.");
    this.plot = node("div", {class: "plot", tabindex: 0, role: "group"},
      this.canvas, this.layer, this.selection, this.crosshair, this.empty);
    this.element = node("figure", {class: `card chart ${description.score ? "score" : description.metric}`},
      node("figcaption", {},
        node("h3", {}, description.title), node("span", {class: "muted small"}, description.note),
        this.pictures, this.readout),
      this.plot, description.second ? this.marks : null);
    this.graph = null;
    this.listen();
  }

  // Sets the data to draw. A chart without values is hidden, except the first one, the loss.
  take(curves, rows) {
    this.curves = curves;
    this.rows = rows;
    const some = rows.some((row) => row.some((value, i) => i > 0 && value !== null));
    this.empty.hidden = some;
    this.canvas.hidden = !some;
    this.layer.toggleAttribute("hidden", !some);
    this.element.hidden = !some && this !== this.group.charts[0];
    this.element.classList.toggle("is-empty", !some);
  }

  draw(options) {
    if (!this.canvas.hidden) this.drawGraph({...options, ...this.ownOptions(this.curves)}, this.rows);
    for (const button of this.pictures.children) button.disabled = this.canvas.hidden;
    this.showValues(null);
    this.describe();
  }

  drawGraph(options, rows) {
    // The chart library does not clear what it drew beyond the new right edge, so another edge needs another graph.
    const layout = [options.rightGap, ...options.labels].join("\n");
    if (this.graph && this.layout === layout) {
      this.graph.updateOptions({...options, file: rows});
      this.fit();
    } else {
      this.graph?.destroy();
      this.graph = new Dygraph(this.canvas, rows, options);
    }
    this.layout = layout;
  }

  // Resizes the graph if its canvas has another size, as when the neighbouring chart was hidden.
  fit() {
    if (this.canvas.hidden || !this.graph) return;
    const {width, height} = this.graph.size();
    if (width !== this.canvas.clientWidth || height !== this.canvas.clientHeight) this.graph.resize();
  }

  ownOptions(curves) {
    const {description, group} = this;
    const labels = curves.map((curve, i) => `${i} ${curve.kind}`);
    const onLogScale = Boolean(description.log && group.log);
    return {
      labels: ["x", ...labels],
      colors: curves.map(({run, kind}) => kind === "raw" ? faded(run.colour, 0.3) : run.colour),
      series: Object.fromEntries(labels.map((label, i) => [label, this.lookOf(curves[i])])),
      rightGap: this.hasNames ? group.endsWidth : PLAIN_GAP,
      underlayCallback: (context, area, graph) => this.drawAround(context, area, graph),
      logscale: onLogScale,
      includeZero: Boolean(description.zero),
      valueRange: group.ignoresOutliers ? this.rangeWithoutOutliers(onLogScale) : null,
      axes: {
        x: {axisLabelFormatter: (x) => group.axisText(x), drawGrid: false, axisLabelWidth: 64},
        y: {axisLabelFormatter: (y) => description.format(y), axisLabelWidth: 52, pixelsPerLabel: 25,
          ticker: onLogScale ? (low, high, pixels) => this.logarithmicTicks(low, high, pixels) : Dygraph.numericTicks},
      },
    };
  }

  // Whether the names of the runs stand at the ends of the curves.
  get hasNames() {
    const {length} = this.group.runs;
    return length > 1 && endsFit(length, this.canvas.clientHeight - AXIS_HEIGHT);
  }

  lookOf({run, kind}) {
    return {
      ...CURVE_LOOKS[kind], strokeBorderColor: this.group.surface,
      ...(this.description.score ? {drawPoints: true, pointSize: 2} : {}),
      ...(kind === "main" && run.dotted ? {strokePattern: DOTS} : {}),
    };
  }

  // Draws what the chart library does not: the lines of failures, and over the curves the gaps and the names at the ends.
  drawAround(context, area, graph) {
    const {group} = this;
    group.drawLines(context, area, graph);
    const [right, bottom] = [area.x + area.w, area.y + area.h];
    const toX = (x) => graph.toDomXCoord(x);
    const shapes = gapShapes(placedGaps(this.curves, this.rows, toX, area.x, right), area.y, bottom);
    if (this.hasNames) {
      const ends = curveEnds(this.curves, this.rows, graph.xAxisRange());
      const placed = placedEnds(ends, toX, (y) => graph.toDomYCoord(y), area.y, bottom);
      shapes.push(...endShapes(placed, {right, width: group.endsWidth, font: END_FONT, colour: "currentcolor"}));
    }
    this.layer.replaceChildren(...shapes);
  }

  logarithmicTicks(low, high, pixels) {
    return logTicks(low, high, Math.floor(pixels / 25)).map((v) => ({v, label: this.description.format(v)}));
  }

  rangeWithoutOutliers(onLogScale) {
    const [from, to] = this.group.drawnWindow ?? [-Infinity, Infinity];
    const seen = this.rows.filter(([x]) => x >= from && x <= to).flatMap((row) => row.slice(1));
    const range = usualRange(seen, onLogScale);
    return range && this.description.zero ? [Math.min(0, range[0]), range[1]] : range;
  }

  // ---- crosshair ----

  showCrosshair(row) {
    if (!this.graph || this.canvas.hidden || row === null) {
      this.crosshair.hidden = true;
      if (!this.canvas.hidden) this.graph?.clearSelection();
    } else {
      const area = this.graph.getArea();
      const left = this.graph.toDomXCoord(this.rows[row][0]);
      this.crosshair.hidden = left < area.x || left > area.x + area.w;
      this.crosshair.style.left = `${left}px`;
      this.graph.setSelection(row);
    }
    this.showValues(row);
  }

  // The value of a curve at the crosshair's row: that of the nearest point at or before it, or the newest one if `row` is
  // null. Always the measured value, not the smoothed one; NaN and infinities, too.
  valueAt(index, row) {
    const {gaps, seen} = this.curves[index];
    for (let at = row ?? this.rows.length - 1; at >= 0; at -= 1) {
      const value = this.rows[at][index + 1];
      if (value !== null) return gaps.get(at) ?? seen?.get(at) ?? value;
    }
    return null;
  }

  showValues(row) {
    const parts = [];
    const {runs} = this.group;
    this.curves.forEach((curve, i) => {
      if (curve.kind === "raw" || (runs.length > READOUT_RUNS_MAX && curve.run !== runs[0])) return;
      const dot = node("i", {class: curve.kind === "second" ? "dot hollow" : "dot"});
      dot.style.color = curve.run.colour;
      parts.push(node("span", {}, dot, this.description.format(this.valueAt(i, row))));
    });
    this.readout.replaceChildren(...parts);
  }

  words(row) {
    const parts = [];
    this.curves.forEach(({run, kind}, i) => {
      const name = kind === "second" ? `${run.name} validation` : run.name;
      if (kind !== "raw") parts.push(`${name} ${this.description.format(this.valueAt(i, row))}`);
    });
    return parts.join(", ");
  }

  describe() {
    const words = this.rows.length ? `${this.rows.length} points; newest: ${this.words(null)}` : "no points yet";
    this.plot.setAttribute("aria-label", `${this.description.title}: ${words}. Arrow keys move along the curve`);
  }

  rowAt(clientX) {
    const x = this.graph.toDataXCoord(clientX - this.plot.getBoundingClientRect().left);
    const row = lowerBound(this.group.drawnX, x);
    const last = this.rows.length - 1;
    if (row > last) return last;
    return row > 0 && x - this.rows[row - 1][0] < this.rows[row][0] - x ? row - 1 : row;
  }

  // ---- pointer and keys ----

  // Dragging with a mouse selects a window. A finger moves the crosshair, and can still scroll the page up and down.
  listen() {
    let begin = null;
    this.plot.addEventListener("pointerdown", (event) => {
      if (!this.graph || event.pointerType !== "mouse" || event.button !== 0) return;
      begin = event.clientX;
      this.plot.setPointerCapture(event.pointerId);
    });
    this.plot.addEventListener("pointermove", (event) => {
      if (!this.graph || this.rows.length === 0) return;
      this.group.pointAt(this.rowAt(event.clientX));
      if (begin !== null) this.showSelection(begin, event.clientX);
    });
    this.plot.addEventListener("pointerup", (event) => {
      if (begin !== null && Math.abs(event.clientX - begin) > 8) this.zoomTo(begin, event.clientX);
      begin = null;
      this.selection.hidden = true;
    });
    this.plot.addEventListener("pointercancel", () => { begin = null; this.selection.hidden = true; });
    this.plot.addEventListener("pointerleave", () => { if (begin === null) this.group.pointAt(null); });
    this.plot.addEventListener("dblclick", () => this.group.zoom(null));
    this.plot.addEventListener("keydown", (event) => this.key(event));
    this.plot.addEventListener("blur", () => this.group.pointAt(null));
  }

  showSelection(from, to) {
    const left = this.plot.getBoundingClientRect().left;
    this.selection.hidden = Math.abs(to - from) <= 8;
    this.selection.style.left = `${Math.min(from, to) - left}px`;
    this.selection.style.width = `${Math.abs(to - from)}px`;
  }

  zoomTo(from, to) {
    const left = this.plot.getBoundingClientRect().left;
    const ends = [from, to].map((x) => this.graph.toDataXCoord(x - left) * this.group.scale);
    this.group.zoom([Math.min(...ends), Math.max(...ends)]);
  }

  key(event) {
    const moves = {ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity};
    if (!(event.key in moves) || !this.graph || this.rows.length === 0) return;
    event.preventDefault();
    const stride = moves[event.key] * Math.max(1, Math.round(this.rows.length / 100));
    const row = Math.min(this.rows.length - 1, Math.max(0, (this.group.row ?? this.rows.length - 1) + stride));
    this.group.pointAt(row);
    announce(`${this.group.xText(row)}: ${this.words(row)}`);
  }
}

class ChartGroup {
  // onZoom(window) is called when the window has changed: [from, to] in steps or seconds, or null. onPoint(text) is called
  // with the x value at the crosshair as text.
  constructor(onZoom, onPoint) {
    Object.assign(this, {onZoom, onPoint, axis: "step", log: false, ignoresOutliers: false, smoothing: 0.6, window: null, row: null});
    Object.assign(this, {runs: [], marks: [], shared: [], drawnX: [], scale: 1, unit: "", endsWidth: 0});
    this.charts = CHARTS.map((description) => new Chart(description, this));
    startMarks(this.charts[0].marks);
  }

  // The titles of the hidden charts; empty if no chart has data.
  get unmeasured() {
    const empty = this.charts.filter((chart) => chart.element.hidden).map((chart) => chart.description.title);
    return this.shared.length > 0 ? empty : [];
  }

  get hasGaps() {
    return this.charts.some((chart) => chart.curves?.some((curve) => curve.gaps?.size > 0));
  }

  get width() {
    return this.charts[0].plot.clientWidth || 1000;
  }

  axisText(x) {
    return this.axis === "time" ? `${Number(x.toPrecision(4))} ${this.unit}` : shortNumber(x);
  }

  // "Step", "Tokens" or "Wall time (min)".
  get axisTitle() {
    const {title} = AXES[this.axis];
    return this.unit ? `${title} (${this.unit})` : title;
  }

  xText(row) {
    const x = this.shared[row];
    if (this.axis === "step") return `step ${grouped(x)}`;
    return this.axis === "tokens" ? `${shortNumber(x)} tokens` : `${durationText(x)} after the start`;
  }

  // `runs`: [{id, name, colour, dotted, points, begin}]. `marks` are those of the first run.
  draw(runs, marks) {
    this.runs = runs.filter((run) => run.points && run.points.step.length > 0);
    this.shared = this.runs.length > 0 ? sharedX(this.runs, this.axis) : [];
    [, this.scale, this.unit] = this.axis === "time" ? timeUnit(this.extent[1]) : [0, 1, ""];
    this.drawnX = Array.from(this.shared, (x) => x / this.scale);
    this.marks = this.runs[0] === runs[0] ? marks : [];
    this.surface = themeColour("var(--surface)");
    this.endsWidth = endsWidth(this.runs.map(({name}) => name), this.width, END_FONT);
    const options = this.look();
    this.addScoreCharts();
    for (const chart of this.charts) {
      const curves = curvesOf(chart.description, this.runs, this.smoothing);
      chart.take(curves, chartRows(curves, this.shared, this.axis, this.scale));
    }
    this.charts[0].empty.textContent = this.shared.length > 0 ? "Not measured in this run." : "No points yet.";
    for (const chart of this.charts) chart.draw(options);
    if (this.row !== null) this.pointAt(this.shared.length > 0 ? Math.min(this.row, this.shared.length - 1) : null);
    this.placeMarks();
  }

  // Adds a chart for each score of the runs, after the other charts.
  addScoreCharts() {
    for (const name of scoreNames(this.runs)) {
      if (this.charts.some((chart) => chart.description.metric === name)) continue;
      const title = SCORE_TITLES[name] ?? name;
      const chart = new Chart({metric: name, score: true, title, note: "", format: fineNumber}, this);
      this.charts.at(-1).element.after(chart.element);
      this.charts.push(chart);
    }
  }

  look() {
    return {
      dateWindow: this.drawnWindow, connectSeparatedPoints: true, interactionModel: {},
      axisLineColor: themeColour("var(--line)"), gridLineColor: themeColour("var(--line)"), gridLineWidth: 1,
      axisLabelFontSize: 12, xRangePad: 4, yRangePad: 6, strokeWidth: 2,
    };
  }

  markX(mark) {
    if (this.axis === "step") return mark.step;
    const {points, begin} = this.runs[0];
    const i = Math.min(points.step.length - 1, lowerBound(points.step, mark.step));
    return xValues(points, begin, this.axis)[i];
  }

  // Draws failures and restarts as vertical lines in every chart.
  drawLines(context, area, graph) {
    context.save();
    context.setLineDash([3, 3]);
    for (const mark of this.marks) {
      if (mark.kind === "checkpoint") continue;
      const left = Math.round(graph.toDomXCoord(this.markX(mark) / this.scale)) + 0.5;
      if (left < area.x || left > area.x + area.w) continue;
      context.strokeStyle = themeColour(mark.kind === "failure" ? "var(--bad)" : "var(--warn)");
      context.globalAlpha = 0.6;
      context.beginPath();
      context.moveTo(left, area.y);
      context.lineTo(left, area.y + area.h);
      context.stroke();
    }
    context.restore();
  }

  placeMarks() {
    const [chart] = this.charts;
    if (!chart.graph || this.runs.length === 0) return drawMarks(chart.marks, [], () => null);
    const area = chart.graph.getArea();
    drawMarks(chart.marks, this.marks, (step) => {
      const left = chart.graph.toDomXCoord(this.markX({step}) / this.scale);
      return left < area.x - 1 || left > area.x + area.w + 1 ? null : left;
    });
  }

  pointAt(row) {
    this.row = row;
    for (const chart of this.charts) if (chart.curves) chart.showCrosshair(row);
    this.onPoint(row === null ? "" : this.xText(row));
  }

  // ---- window ----

  get extent() {
    return this.shared.length ? [this.shared[0], this.shared.at(-1)] : [0, 1];
  }

  // The window in the unit of the axis.
  get drawnWindow() {
    return this.window ? this.window.map((x) => x / this.scale) : null;
  }

  zoom(window) {
    this.window = window;
    for (const chart of this.charts) chart.graph?.updateOptions({dateWindow: this.drawnWindow});
    this.placeMarks();
    this.onZoom(window);
  }

  resize() {
    for (const chart of this.charts) chart.fit();
    this.placeMarks();
  }
}
