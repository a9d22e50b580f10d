"use strict";
// A chart as a picture to download: what the page shows, with a title, a legend and the units of the axes.

const PICTURE = {width: 960, height: 540, left: 82, bottom: 62};
const PICTURE_FONT = "13px system-ui, sans-serif";
const LEGEND_LINE_PIXELS = 22;
const PNG_SCALE = 2;

// A range of non-zero width, also for a run of one point.
const widened = ([low, high]) => low < high ? [low, high] : [low - 0.5, high + 0.5];

class ChartPicture {
  constructor(chart) {
    this.chart = chart;
    this.group = chart.group;
    this.colours = Object.fromEntries(
      ["surface", "text", "muted", "line"].map((name) => [name, themeColour(`var(--${name})`)]));
    const {runs} = this.group;
    const right = runs.length > 1 ? endsWidth(runs.map(({name}) => name), PICTURE.width, PICTURE_FONT) : 24;
    const legend = this.legendEntries();
    this.area = {left: PICTURE.left, right: PICTURE.width - right, top: 74 + legend.lines * LEGEND_LINE_PIXELS,
      bottom: PICTURE.height + legend.lines * LEGEND_LINE_PIXELS - PICTURE.bottom};
    this.legend = legend.entries;
    this.height = this.area.bottom + PICTURE.bottom;
    [this.x, this.y] = [chart.graph.xAxisRange(), chart.graph.yAxisRange()].map(widened);
    this.isLog = Boolean(chart.description.log && this.group.log);
  }

  // The legend's entries with their places, and the number of its lines.
  legendEntries() {
    const {runs} = this.group;
    const entries = runs.map((run) => ({name: run.name, colour: run.colour, dash: run.dotted ? DOTS.join(" ") : null}));
    if (this.chart.description.second) entries.push({name: "validation", colour: this.colours.muted, dash: "6 4"});
    let [left, lines] = [PICTURE.left, 1];
    for (const entry of entries) {
      entry.name = fittedText(entry.name, PICTURE.width - PICTURE.left - 80, PICTURE_FONT);
      const width = textWidth(entry.name, PICTURE_FONT) + 52;
      if (left > PICTURE.left && left + width > PICTURE.width - 24) [left, lines] = [PICTURE.left, lines + 1];
      Object.assign(entry, {left, top: 66 + (lines - 1) * LEGEND_LINE_PIXELS});
      left += width;
    }
    return {entries, lines};
  }

  toX(x) {
    const {left, right} = this.area;
    return left + (x - this.x[0]) / (this.x[1] - this.x[0]) * (right - left);
  }

  toY(y) {
    const {top, bottom} = this.area;
    const scale = this.isLog ? Math.log : (value) => value;
    return bottom - (scale(y) - scale(this.y[0])) / (scale(this.y[1]) - scale(this.y[0])) * (bottom - top);
  }

  // The text under the title: what the reader must know to read the curves.
  note() {
    const {description} = this.chart;
    const {smoothing, window} = this.group;
    return [description.smooth && smoothing > 0 ? `smoothing ${smoothing.toFixed(2)}` : "",
      this.isLog ? "logarithmic scale" : "", window ? "zoomed" : ""].filter(Boolean).join(" · ");
  }

  head() {
    const {description} = this.chart;
    const {runs} = this.group;
    const title = runs.length === 1 ? `${description.title} of ${runs[0].name}` : `${description.title} of ${runs.length} runs`;
    const {text, muted} = this.colours;
    const top = words(PICTURE.left, 26, title, {"font-size": "19px", "font-weight": "650", fill: text});
    return [top, words(PICTURE.left, 48, this.note(), {fill: muted}), ...this.legend.flatMap((entry) => [
      line(entry.left, entry.top, entry.left + 24, entry.top,
        {stroke: entry.colour, "stroke-width": 2.5, "stroke-dasharray": entry.dash}),
      words(entry.left + 31, entry.top, entry.name, {fill: text}),
    ])];
  }

  axes() {
    const {left, right, top, bottom} = this.area;
    const {muted, line: grid} = this.colours;
    const {description} = this.chart;
    const ticks = this.isLog ? logTicks(...this.y, 10) : evenTicks(...this.y, 8);
    const parts = ticks.flatMap((y) => [
      line(left, this.toY(y), right, this.toY(y), {stroke: grid}),
      words(left - 8, this.toY(y), description.format(y), {fill: muted, "text-anchor": "end"}),
    ]);
    for (const x of evenTicks(...this.x, 8)) {
      parts.push(line(this.toX(x), bottom, this.toX(x), bottom + 5, {stroke: muted}));
      const text = this.group.axis === "time" ? String(Number(x.toPrecision(4))) : shortNumber(x);
      parts.push(words(this.toX(x), bottom + 17, text, {fill: muted, "text-anchor": "middle"}));
    }
    parts.push(line(left, bottom, right, bottom, {stroke: muted}));
    parts.push(words((left + right) / 2, bottom + 42, this.group.axisTitle, {fill: muted, "text-anchor": "middle"}));
    const middle = (top + bottom) / 2;
    parts.push(words(18, middle, description.unit ?? description.title,
      {fill: muted, "text-anchor": "middle", transform: `rotate(-90 18 ${shortPlace(middle)})`}));
    return parts;
  }

  // The path of a curve. NaN in the rows interrupts it, null does not.
  path(column) {
    const parts = [];
    let pen = "M";
    for (const row of this.chart.rows) {
      const y = row[column + 1];
      if (y === null) continue;
      if (Number.isNaN(y) || (this.isLog && y <= 0)) {
        pen = "M";
        continue;
      }
      parts.push(`${pen}${shortPlace(this.toX(row[0]))} ${shortPlace(this.toY(y))}`);
      pen = "L";
    }
    return parts.join("");
  }

  curves() {
    const looks = {raw: {"stroke-width": 1, "stroke-opacity": 0.3}, main: {"stroke-width": 2},
      second: {"stroke-width": 1.6, "stroke-dasharray": "6 4"}};
    return this.chart.curves.map(({run, kind}, i) => shape("path", {
      d: this.path(i), fill: "none", stroke: run.colour, "stroke-linejoin": "round", ...looks[kind],
      ...(kind === "main" && run.dotted ? {"stroke-dasharray": DOTS.join(" ")} : {}),
    }));
  }

  failures() {
    const {top, bottom, left, right} = this.area;
    return this.group.marks.filter(({kind}) => kind === "failure" || kind === "restart").map((mark) => {
      const x = this.toX(this.group.markX(mark) / this.group.scale);
      if (x < left || x > right) return "";
      const colour = themeColour(mark.kind === "failure" ? "var(--bad)" : "var(--warn)");
      return line(x, top, x, bottom, {stroke: colour, "stroke-dasharray": "3 3", "stroke-opacity": 0.6});
    });
  }

  gaps() {
    const {left, right, top, bottom} = this.area;
    const placed = placedGaps(this.chart.curves, this.chart.rows, (x) => this.toX(x), left, right);
    return gapShapes(placed, top, bottom);
  }

  ends() {
    if (this.group.runs.length < 2) return [];
    const {right, top, bottom} = this.area;
    const ends = curveEnds(this.chart.curves, this.chart.rows, this.x);
    const placed = placedEnds(ends, (x) => this.toX(x), (y) => this.toY(y), top, bottom);
    return endShapes(placed, {right, width: PICTURE.width - right, font: PICTURE_FONT, colour: this.colours.text});
  }

  // The picture as the text of an SVG file.
  text() {
    const {left, right, top, bottom} = this.area;
    const clip = shape("clipPath", {id: "area"},
      shape("rect", {x: left, y: top - 2, width: right - left, height: bottom - top + 4}));
    const svg = shape("svg", {xmlns: SVG_SPACE, width: PICTURE.width, height: this.height,
      viewBox: `0 0 ${PICTURE.width} ${shortPlace(this.height)}`, "font-family": "system-ui, sans-serif", "font-size": "13px"},
      clip, shape("rect", {width: PICTURE.width, height: this.height, fill: this.colours.surface}),
      ...this.head(), ...this.axes(), ...this.failures(),
      shape("g", {"clip-path": "url(#area)"}, ...this.curves()), ...this.gaps(), ...this.ends());
    return new XMLSerializer().serializeToString(svg);
  }

  async png() {
    const image = new Image(PICTURE.width, this.height);
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(this.text())}`;
    await image.decode();
    const canvas = node("canvas", {width: PICTURE.width * PNG_SCALE, height: Math.round(this.height * PNG_SCALE)});
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return new Promise((done) => { canvas.toBlob(done, "image/png"); });
  }

  // "loss-demo" or "loss-3-runs".
  get fileName() {
    const {runs} = this.group;
    const name = runs.length === 1 ? runs[0].name : `${runs.length} runs`;
    return `${this.chart.description.title} ${name}`.toLowerCase().replace(/[^a-z0-9._]+/g, "-");
  }
}

// How a picture is made in each format, by the name on its button.
const PICTURE_KINDS = {
  SVG: async (picture) => new Blob([picture.text()], {type: "image/svg+xml"}),
  PNG: (picture) => picture.png(),
};

async function downloadPicture(chart, kind) {
  const picture = new ChartPicture(chart);
  const name = `${picture.fileName}.${kind.toLowerCase()}`;
  const address = URL.createObjectURL(await PICTURE_KINDS[kind](picture));
  node("a", {href: address, download: name}).click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
  announce(`${name} downloaded`);
}
