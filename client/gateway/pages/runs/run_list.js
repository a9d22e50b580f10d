"use strict";
// The list of runs. Items are changed in place, so that focus and pointer stay where they are while numbers move.

const STATE_TONES = {
  submitted: "accent", queued: "accent", admitted: "accent", starting: "accent", running: "good", finishing: "good",
  reconfiguring: "warn", holding: "warn", paused: "warn", preempted: "warn", backoff: "warn", cancelling: "warn",
  succeeded: "good", failed: "bad", cancelled: "",
};

const runItems = new Map();  // id -> RunItem

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function showState(badge, run) {
  const tone = run.state === "succeeded" && run.warning ? "warn" : STATE_TONES[run.state] ?? "";
  if (badge.className !== `badge ${tone}`) badge.className = `badge ${tone}`;
  setText(badge, run.state);
}

const progressOf = (run) => run.target_steps > 0 ? Math.min(1, (run.step || 0) / run.target_steps) : 0;

function timeLeft(run) {
  return isNumber(run.seconds_left) ? run.seconds_left : null;
}

// "2nd in the queue"
function queueText(position) {
  const endings = {1: "st", 2: "nd", 3: "rd"};
  const teen = position % 100 >= 11 && position % 100 <= 13;
  return `${position}${(!teen && endings[position % 10]) || "th"} in the queue`;
}

// One line under the name: what matters in this state.
function runFacts(run) {
  const facts = [];
  if (isNumber(run.queue_position)) facts.push(queueText(run.queue_position));
  if (run.step) facts.push(`${grouped(run.step)} / ${grouped(run.target_steps)}`);
  if (timeLeft(run) !== null && run.state === "running") facts.push(`${durationText(timeLeft(run))} left`);
  if (run.terminal && isNumber(run.finished_at)) facts.push(agoText(run.finished_at));
  if (isNumber(run.loss)) facts.push(`loss ${decimals(run.loss, 3)}`);
  return facts.join(" · ");
}

class RunItem {
  constructor(run, onOpen, onOverlay, onLabel) {
    this.box = node("input", {type: "checkbox", "aria-label": `Show the curves of ${run.name}`});
    this.box.addEventListener("change", () => onOverlay(run.id, this.box.checked));
    this.name = node("span", {class: "name"}, run.name);
    this.badge = node("span", {class: "badge"});
    this.bar = node("i");
    this.track = node("span", {class: "track", "aria-hidden": "true"}, this.bar);
    this.facts = node("span", {class: "facts small number"});
    this.reason = node("span", {class: "why small"});
    this.button = node("button", {class: "open", onclick: () => onOpen(run.id)},
      node("span", {class: "title"}, this.name, this.badge), this.track, this.facts, this.reason);
    // The curves of the open run are always shown: a dot in their colour stands where the others have their box.
    this.dot = node("i", {class: "dot", "aria-hidden": "true"});
    this.chips = node("span", {class: "chips"}, ...Object.entries(run.labels ?? {}).map(([key, value]) =>
      node("button", {class: "chip", title: "Show runs with this label", onclick: () => onLabel(`${key}=${value}`)},
        `${key}=${value}`)));
    this.element = node("li", {"data-run": run.id}, this.box, this.dot,
      node("div", {class: "body"}, this.button, this.chips));
  }

  update(run, open, shown, colour) {
    showState(this.badge, run);
    setText(this.facts, runFacts(run));
    setText(this.reason, run.state === "succeeded" ? run.warning || "" : run.reason || run.warning || "");
    this.bar.style.width = `${progressOf(run) * 100}%`;
    this.track.hidden = run.state !== "running" && !run.step;
    this.element.classList.toggle("is-open", open);
    if (open) this.button.setAttribute("aria-current", "true");
    else this.button.removeAttribute("aria-current");
    this.box.checked = shown;
    this.box.hidden = open;
    this.dot.hidden = !open;
    this.dot.style.color = colour || "";
    this.box.style.accentColor = colour || "";
    this.bar.style.background = colour || "";
  }
}

// How many runs are in a state, of all and not of those in the list alone.
function countsText(runs, counts) {
  const listed = (state) => runs.filter((run) => run.state === state).length;
  const known = Object.keys(counts ?? {}).length > 0;
  const count = (state) => known ? counts[state] ?? 0 : listed(state);
  const waiting = count("queued") + count("submitted");
  return `${grouped(count("running"))} running${waiting > 0 ? ` · ${grouped(waiting)} waiting` : ""}`;
}

// `choice`: {open, shown(id), colour(id), onOpen, onOverlay, onLabel, filtered}.
function showRunList(runs, counts, choice) {
  const list = $("#run-list");
  for (const run of runs) {
    if (!runItems.has(run.id)) runItems.set(run.id, new RunItem(run, choice.onOpen, choice.onOverlay, choice.onLabel));
    runItems.get(run.id).update(run, run.id === choice.open, choice.shown(run.id), choice.colour(run.id));
  }
  const wanted = runs.map((run) => runItems.get(run.id).element);
  if (wanted.length === 0) wanted.push(node("li", {class: "none muted"}, choice.filtered ? "None match." : "None yet."));
  if (wanted.length !== list.children.length || wanted.some((element, i) => element !== list.children[i])) {
    list.replaceChildren(...wanted);
  }
  setText($("#runs-count"), runs.length > 0 || choice.filtered ? countsText(runs, counts) : "");
  $("#overlay-hint").hidden = runs.length < 2;
}
