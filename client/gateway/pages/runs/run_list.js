"use strict";
// The list of runs. Items are updated in place, so that focus and pointer stay on the same item.

const STATE_TONES = {
  submitted: "accent", queued: "accent", starting: "accent", running: "good", finishing: "good",
  backoff: "warn", cancelling: "warn", paused: "warn",
  succeeded: "good", failed: "bad", cancelled: "",
};

const runItems = new Map();  // id -> RunItem

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// Whether a run that is queued, trains or has succeeded has a warning, so that it must not look healthy. A warning that
// begins with "recovered" means that an earlier one is over.
const isWarned = (run) => Boolean(run.warning) && !run.warning.startsWith("recovered") && ["good", "accent"].includes(STATE_TONES[run.state]);
const toneOf = (run) => isWarned(run) ? "warn" : STATE_TONES[run.state] ?? "";

function stateText(run) {
  if (!isWarned(run)) return run.state;
  return `⚠ ${run.warning.startsWith("diverged") ? "diverged" : run.state}`;
}

function showState(badge, run) {
  const look = `badge ${toneOf(run)}`;
  if (badge.className !== look) badge.className = look;
  setText(badge, stateText(run));
  badge.title = isWarned(run) ? `${run.state}, with a warning` : "";
}

const progressOf = (run) => run.target_steps > 0 ? Math.min(1, (run.step || 0) / run.target_steps) : 0;

function timeLeft(run) {
  return isNumber(run.seconds_left) ? run.seconds_left : null;
}

// "2nd in the queue"
function queueText(position) {
  const endings = {1: "st", 2: "nd", 3: "rd"};
  const teen = position % 100 >= 11 && position % 100 <= 13;
  return `${grouped(position)}${(!teen && endings[position % 10]) || "th"} in the queue`;
}

// Why the run is in its state; empty for one that succeeded. Leaves out "queue: ", because the state is shown beside it.
const reasonOf = (run) => run.state === "succeeded" ? "" : (run.reason || "").replace(/^queue: /, "");
const whyText = (run) => reasonOf(run) || run.warning || "";

// The line under the name: the facts that matter in this state, and the value that the list is sorted by.
function runFacts(run, sortedBy) {
  const facts = [];
  if (isNumber(run.queue_position)) facts.push(queueText(run.queue_position));
  if (run.step) facts.push(`${grouped(run.step)} / ${grouped(run.target_steps)}`);
  if (timeLeft(run) !== null && run.state === "running") facts.push(`${durationText(timeLeft(run))} left`);
  if (run.terminal && isNumber(run.finished_at)) facts.push(agoText(run.finished_at));
  if (sortedBy === "validation_loss") facts.push(`val. loss ${decimals(run.validation_loss, 3)}`);
  else if (isNumber(run.loss)) facts.push(`loss ${decimals(run.loss, 3)}`);
  return facts.join(" · ");
}

// A link to a run. A click opens the run in this page; the browser can also open the link in another tab.
const runLink = (id) => `#run=${encodeURIComponent(id)}`;

function labelChips(labels, onLabel) {
  return Object.entries(labels ?? {}).map(([key, value]) => `${key}=${value}`).map((label) =>
    node("button", {class: "chip", title: `Show runs with the label ${label}`, onclick: () => onLabel(label)}, label));
}

class RunItem {
  constructor(run, onOverlay, onLabel) {
    this.box = node("input", {type: "checkbox"});
    this.box.addEventListener("change", () => onOverlay(run.id, this.box.checked));
    this.name = node("span", {class: "name"}, run.name);
    this.id = node("span", {class: "id muted small number"});
    this.badge = node("span", {class: "badge"});
    this.bar = node("i");
    this.track = node("span", {class: "track", "aria-hidden": "true"}, this.bar);
    this.facts = node("span", {class: "facts small number"});
    this.reason = node("span", {class: "why small"});
    this.note = node("span", {class: "note small"});
    this.link = node("a", {class: "open", href: runLink(run.id)},
      node("span", {class: "title"}, this.name, this.id, this.badge), this.track, this.facts, this.reason, this.note);
    // The open run's curves are always shown, so it has a dot in their colour instead of a check box.
    this.dot = node("i", {class: "dot", "aria-hidden": "true"});
    this.chips = node("span", {class: "chips"}, ...labelChips(run.labels, onLabel));
    this.element = node("li", {"data-run": run.id}, this.box, this.dot,
      node("div", {class: "body"}, this.link, this.chips));
  }

  // `look`: {open, shown, colour, why, sortedBy, repeats}; `repeats`: another run has the same name.
  update(run, look) {
    setText(this.id, look.repeats ? run.id : "");
    this.id.hidden = !look.repeats;
    this.box.setAttribute("aria-label", `Show the curves of ${run.name}${look.repeats ? ` (${run.id})` : ""}`);
    showState(this.badge, run);
    setText(this.facts, runFacts(run, look.sortedBy));
    setText(this.reason, look.why);
    setText(this.note, run.note ?? "");
    this.bar.style.width = `${progressOf(run) * 100}%`;
    this.track.hidden = run.state !== "running" && !run.step;
    this.element.classList.toggle("is-open", look.open);
    if (look.open) this.link.setAttribute("aria-current", "true");
    else this.link.removeAttribute("aria-current");
    this.box.checked = look.shown;
    this.box.hidden = look.open;
    this.dot.hidden = !look.open;
    for (const [element, property] of [[this.dot, "color"], [this.box, "accentColor"], [this.bar, "background"]]) {
      element.style[property] = look.colour;
    }
  }
}

// "3 running · 2 waiting": counts all runs if the coordinator reports counts, otherwise those in the list.
function countsText(runs, counts) {
  const listed = (state) => runs.filter((run) => run.state === state).length;
  const known = Object.keys(counts ?? {}).length > 0;
  const count = (state) => known ? counts[state] ?? 0 : listed(state);
  const waiting = count("queued") + count("submitted");
  return `${grouped(count("running"))} running${waiting > 0 ? ` · ${grouped(waiting)} waiting` : ""}`;
}

// Why each run is in its state. Of waiting runs with the same reason that follow each other, only the first one shows it.
function whyTexts(runs) {
  return runs.map((run, i) => {
    const before = runs[i - 1];
    const isSame = isNumber(run.queue_position) && isNumber(before?.queue_position) && before.reason === run.reason;
    return isSame ? "" : whyText(run);
  });
}

// `choice`: {open, shown: ids, colour(id), onOverlay, onLabel, filtered, sortedBy, repeated: names}.
function showRunList(runs, counts, choice) {
  const list = $("#run-list");
  const shown = new Set(choice.shown);
  const why = whyTexts(runs);
  runs.forEach((run, i) => {
    if (!runItems.has(run.id)) runItems.set(run.id, new RunItem(run, choice.onOverlay, choice.onLabel));
    const isShown = shown.has(run.id);
    runItems.get(run.id).update(run, {open: run.id === choice.open, shown: isShown, why: why[i],
      colour: isShown ? choice.colour(run.id) : "", sortedBy: choice.sortedBy, repeats: choice.repeated.has(run.name)});
  });
  const wanted = runs.map((run) => runItems.get(run.id).element);
  if (wanted.length === 0) wanted.push(node("li", {class: "none muted"}, choice.filtered ? "None match." : "None yet."));
  if (wanted.length !== list.children.length || wanted.some((element, i) => element !== list.children[i])) {
    list.replaceChildren(...wanted);
  }
  setText($("#runs-count"), runs.length > 0 || choice.filtered ? countsText(runs, counts) : "");
  $("#overlay-hint").hidden = runs.length < 2;
}
