"use strict";
// Checkpoints, failures and restarts of the open run, and steps whose loss is not finite, as marks on the axis of the loss
// chart.

const MARK_KINDS = {
  checkpoint: {sign: "◆", rank: 0}, gap: {sign: "∅", rank: 1}, restart: {sign: "↻", rank: 2},
  failure: {sign: "✕", rank: 3},
};
const MARK_PIXELS = 18;  // marks that are closer than this are joined

function checkpointMark({step, validation_loss: loss}) {
  const words = isNumber(loss) ? `, validation loss ${decimals(loss, 3)}` : "";
  return {kind: "checkpoint", step, text: `Checkpoint at step ${grouped(step)}${words}`};
}

// A mark for each stretch of points whose loss is not finite.
function gapMarks(points) {
  const marks = [];
  let first = null;
  points.loss.forEach((loss, i) => {
    if (!isNotFinite(loss)) {
      first = null;
      return;
    }
    const [begin, end] = [points.step[first ?? i], points.step[i]].map(grouped);
    const where = begin === end ? `at step ${end}` : `from step ${begin} to step ${end}`;
    const mark = {kind: "gap", step: points.step[first ?? i], text: `The loss is ${notFiniteText(loss)} ${where}`};
    if (first === null) marks.push(mark);
    else marks[marks.length - 1] = mark;
    first ??= i;
  });
  return marks;
}

// The marks of a run, [{kind, step, text}], in the order of their steps.
function marksOf(details, points) {
  const marks = [...details.checkpoints.map(checkpointMark), ...(points ? gapMarks(points) : [])];
  let failed = false;
  for (const event of details.events) {
    const failure = event.kind === "rank_failed" || (event.kind === "ended" && event.state === "failed");
    const step = failure || (failed && event.kind === "started") ? stepAt(points, event.at) : null;
    if (step === null) continue;
    marks.push(failure
      ? {kind: "failure", step, text: `Failure at step ${grouped(step)}: ${event.reason || event.kind}`}
      : {kind: "restart", step, text: `Restart at step ${grouped(step)} (${event.actor})`});
    failed = failure;
  }
  return marks.sort((one, other) => one.step - other.step);
}

// Joins marks that would overlap. The joined mark has the sign of its most serious part.
function clustered(placed) {
  const clusters = [];
  for (const mark of placed) {
    const last = clusters.at(-1);
    if (last && mark.left - last.left < MARK_PIXELS) last.marks.push(mark);
    else clusters.push({left: mark.left, marks: [mark]});
  }
  return clusters;
}

function clusterText(marks) {
  if (marks.length <= 3) return marks.map((mark) => mark.text).join("\n");
  const others = marks.filter((mark) => mark.kind !== "checkpoint").map((mark) => mark.text);
  const steps = marks.filter((mark) => mark.kind === "checkpoint").map((mark) => grouped(mark.step));
  const lines = others.slice(0, 3);
  if (others.length > 3) lines.push(`and ${others.length - 3} more`);
  if (steps.length > 0) lines.push(`${steps.length} checkpoints, steps ${steps[0]} to ${steps.at(-1)}`);
  return lines.join("\n");
}

function markButton(cluster, first) {
  const [{kind}] = [...cluster.marks].sort((one, other) => MARK_KINDS[other.kind].rank - MARK_KINDS[one.kind].rank);
  const text = clusterText(cluster.marks);
  const label = text.replaceAll("\n", "; ");
  const button = node("button", {class: `mark ${kind}`, "aria-label": label, tabindex: first ? 0 : -1},
    node("span", {"aria-hidden": "true"}, MARK_KINDS[kind].sign));
  button.style.left = `${cluster.left}px`;
  for (const event of ["pointerenter", "focus", "click"]) {
    button.addEventListener(event, () => showMarkTip(button, text));
  }
  for (const event of ["pointerleave", "blur"]) button.addEventListener(event, hideMarkTip);
  return button;
}

function showMarkTip(button, text) {
  const tip = $("#mark-tip");
  tip.textContent = text;
  tip.hidden = false;
  const box = button.getBoundingClientRect();
  const left = box.left + box.width / 2 - tip.offsetWidth / 2;
  tip.style.left = `${Math.max(8, Math.min(innerWidth - tip.offsetWidth - 8, left))}px`;
  tip.style.top = `${Math.max(8, box.top - tip.offsetHeight - 6)}px`;
}

function hideMarkTip() {
  $("#mark-tip").hidden = true;
}

let drawnMarks = "";
// `toLeft(step)` returns the position of a step in pixels, or null if it is outside the window.
function drawMarks(layer, marks, toLeft) {
  const placed = marks.map((mark) => ({...mark, left: toLeft(mark.step)})).filter((mark) => mark.left !== null);
  const key = placed.map((mark) => `${mark.kind}${mark.step}@${Math.round(mark.left)}`).join();
  if (key === drawnMarks) return;
  drawnMarks = key;
  const focused = [...layer.children].indexOf(document.activeElement);
  layer.replaceChildren(...clustered(placed).map((cluster, i) => markButton(cluster, i === 0)));
  if (focused >= 0) layer.children[Math.min(focused, layer.children.length - 1)]?.focus();
}

// All marks are one stop of the Tab key; the arrow keys move from mark to mark.
function startMarks(layer) {
  layer.addEventListener("keydown", (event) => {
    const move = {ArrowRight: "nextElementSibling", ArrowLeft: "previousElementSibling"}[event.key];
    if (event.key === "Escape") hideMarkTip();
    if (!move) return;
    event.preventDefault();
    document.activeElement[move]?.focus();
  });
}
