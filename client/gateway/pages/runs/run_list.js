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
  constructor(run, onOpen, onOverlay) {
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
    this.element = node("li", {"data-run": run.id}, this.box, this.dot, this.button);
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

// `choice`: {open, shown(id), colour(id), onOpen, onOverlay}.
function showRunList(runs, choice) {
  const list = $("#run-list");
  for (const run of runs) {
    if (!runItems.has(run.id)) runItems.set(run.id, new RunItem(run, choice.onOpen, choice.onOverlay));
    runItems.get(run.id).update(run, run.id === choice.open, choice.shown(run.id), choice.colour(run.id));
  }
  const wanted = runs.map((run) => runItems.get(run.id).element);
  if (wanted.length === 0) wanted.push(node("li", {class: "none muted"}, "None yet."));
  if (wanted.length !== list.children.length || wanted.some((element, i) => element !== list.children[i])) {
    list.replaceChildren(...wanted);
  }
  const running = runs.filter((run) => run.state === "running").length;
  const queued = runs.filter((run) => isNumber(run.queue_position)).length;
  const counts = queued > 0 ? `${running} running · ${queued} waiting` : `${running} running`;
  setText($("#runs-count"), runs.length > 0 ? counts : "");
  $("#overlay-hint").hidden = runs.length < 2;
}
