"use strict";
// The validation loss of a sweep's trials against one of its keys: a dot for each trial, which is a link to its run, and a
// line through the means.

const SWEEP_CHART = {height: 210, left: 52, right: 14, top: 10, bottom: 34};
const LOG_SPAN = 8;     // an axis is logarithmic when its largest value is at least this many times its smallest
const MEANS_MAX = 12;   // a line through the means of more values would follow their noise
const SWEEP_FONT = "12px system-ui, sans-serif";

const numberOf = (text) => text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : null;

// Where each value of a key is on the axis: at its number, or at its place in the sorted list of values when one is not a
// number: {place(text), ticks: [[place, text]], log}.
function keyAxis(texts) {
  const values = [...new Set(texts)].sort();
  const numbers = values.map(numberOf);
  if (numbers.includes(null)) {
    const place = (text) => values.indexOf(text) + 1;
    return {place, ticks: values.map((text) => [place(text), text]), log: false};
  }
  const low = Math.min(...numbers);
  const log = low > 0 && Math.max(...numbers) / low >= LOG_SPAN;
  const place = (text) => log ? Math.log10(numberOf(text)) : numberOf(text);
  const ticks = values.map((text) => [place(text), shortValue(text)]);
  return {place, ticks: ticks.sort(([one], [other]) => one - other), log};
}

// A number as the sweep file has it, unless that is long.
const shortValue = (text) => text.length <= 7 ? text : String(Number(Number(text).toPrecision(3)));

// About `count` round values between two numbers.
function roundValues(low, high, count) {
  const raw = (high - low) / count;
  const size = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * size).find((one) => one >= raw);
  const values = [];
  for (let value = Math.ceil(low / step) * step; value <= high + step * 1e-6; value += step) values.push(value);
  return {values, digits: Math.max(0, -Math.floor(Math.log10(step)))};
}

// The two ends with a margin; two equal ends are moved apart.
function withMargin(low, high, margin) {
  const size = high - low || Math.max(Math.abs(low) * 0.1, 1e-3);
  return [low - margin * size, high + margin * size];
}

function meansOf(dots) {
  const sums = new Map();
  for (const {x, y} of dots) {
    const [sum, count] = sums.get(x) ?? [0, 0];
    sums.set(x, [sum + y, count + 1]);
  }
  return [...sums].map(([x, [sum, count]]) => [x, sum / count]).sort(([one], [other]) => one - other);
}

// The ticks whose texts do not overlap, from the left; `x` places a value in pixels.
function apart(ticks, x) {
  let end = -Infinity;
  return ticks.filter(([place, text]) => {
    const half = textWidth(text, SWEEP_FONT) / 2;
    if (x(place) - half < end + 6) return false;
    end = x(place) + half;
    return true;
  });
}

// {figure, draw}: draw(element) draws into the figure once it is in the page and has a width.
function sweepFigure(sweep, key, open) {
  const trials = sweep.trials.filter((trial) => isNumber(trial.validation_loss) && trial.keys[key] !== undefined);
  const figure = node("figure", {class: "sweep-chart"},
    node("figcaption", {}, "Val. loss by ", node("code", {}, key)), node("div", {class: "sweep-plot"}));
  return {figure, draw: (element) => element.replaceChildren(
    trials.length > 0 ? sweepPicture(trials, key, open, element.clientWidth) : node("p", {class: "muted nothing"}, "No loss yet"))};
}

function sweepPicture(trials, key, open, width) {
  const {height, left, right, top, bottom} = SWEEP_CHART;
  const axis = keyAxis(trials.map((trial) => trial.keys[key]));
  const dots = trials.map((trial) => ({trial, x: axis.place(trial.keys[key]), y: trial.validation_loss}));
  const [xLow, xHigh] = withMargin(Math.min(...dots.map(({x}) => x)), Math.max(...dots.map(({x}) => x)), 0.06);
  const [yLow, yHigh] = withMargin(Math.min(...dots.map(({y}) => y)), Math.max(...dots.map(({y}) => y)), 0.08);
  const x = (value) => left + (value - xLow) / (xHigh - xLow) * (width - left - right);
  const y = (value) => height - bottom - (value - yLow) / (yHigh - yLow) * (height - top - bottom);
  const {values, digits} = roundValues(yLow, yHigh, 4);
  const muted = themeColour("var(--muted)");
  const rule = themeColour("var(--line)");
  const colour = themeColour("var(--series-0)");
  const means = meansOf(dots);
  const label = `Validation loss by ${key}: ${means.map(([place, mean]) =>
    `${axis.ticks.find(([other]) => other === place)?.[1]}: ${mean.toFixed(4)}`).join(", ")}`;
  return shape("svg", {width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": label, "font-size": 12},
    ...values.flatMap((value) => [line(left, y(value), width - right, y(value), {stroke: rule}),
      words(left - 8, y(value), value.toFixed(digits), {fill: muted, "text-anchor": "end"})]),
    ...apart(axis.ticks, x).map(([place, text]) =>
      words(x(place), height - bottom + 16, fittedText(text, 110, SWEEP_FONT), {fill: muted, "text-anchor": "middle"})),
    means.length > 1 && means.length <= MEANS_MAX
      ? stroke(means.map(([place, mean]) => [x(place), y(mean)]), {stroke: colour, "stroke-dasharray": "4 4", "stroke-width": 1.5}) : "",
    ...dots.map((dot) => sweepDot(dot, x(dot.x), y(dot.y), colour, open)));
}

function sweepDot({trial, y}, cx, cy, colour, open) {
  const isOpen = trial.run === open;
  const text = `trial ${trial.number}: ${Object.entries(trial.keys).map(([key, value]) => `${key}=${value}`).join(", ")}, loss ${y.toFixed(4)}`;
  return shape("a", {href: runLink(trial.run), "aria-label": text}, shape("title", {}, text),
    shape("circle", {cx, cy, r: 12, fill: "transparent"}),  // a larger target for a finger
    shape("circle", {cx, cy, r: isOpen ? 6 : 4.5, fill: isOpen ? colour : themeColour("var(--surface)"), stroke: colour, "stroke-width": 2}));
}
