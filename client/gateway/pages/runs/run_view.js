"use strict";
// The run that is open: its numbers, checkpoints, samples, events and run file.

const plainPercent = (share) => isNumber(share) && share > 0 ? `${(share * 100).toFixed(1)}%` : "–";

function tilesOf(run) {
  const took = run.started_at && run.finished_at ? run.finished_at - run.started_at : null;
  return [
    ["Loss", decimals(run.loss, 4)],
    ["Validation loss", decimals(run.validation_loss, 4)],
    ["Tokens/s", shortNumber(run.tokens_per_second)],
    ["MFU", plainPercent(run.mfu)],
    run.terminal ? ["Took", durationText(took)] : ["Time left", durationText(timeLeft(run))],
    ["Step time", durationFine(run.step_seconds)],
    ["Tokens seen", shortNumber(run.tokens)],
    ["Restarts", grouped(run.failures || 0)],
    ...Object.entries(run.scores ?? {}).map(([name, value]) => [SCORE_TITLES[name] ?? name, decimals(value, 4)]),
  ];
}

function durationFine(seconds) {
  if (!isNumber(seconds)) return "–";
  return seconds < 1 ? `${Math.round(seconds * 1000)} ms` : `${seconds.toFixed(2)} s`;
}

const TILE_PIXELS = 124;

// Chooses the number of columns: as few rows as possible, with about the same number of tiles in each, so that the last row
// is not much shorter.
function arrangeTiles() {
  const list = $("#run-tiles");
  const count = list.children.length;
  const most = Math.max(2, Math.floor(list.clientWidth / TILE_PIXELS));
  list.style.setProperty("--columns", Math.ceil(count / Math.ceil(count / most)) || 1);
}

function showTiles(run) {
  const list = $("#run-tiles");
  const tiles = tilesOf(run);
  if (list.children.length !== tiles.length) {
    list.replaceChildren(...tiles.map(() => node("div", {}, node("dt"), node("dd", {class: "number"}))));
    arrangeTiles();
  }
  tiles.forEach(([name, value], i) => {
    setText(list.children[i].firstChild, name);
    list.children[i].title = name;
    setText(list.children[i].lastChild, value);
  });
}

function reasonText(run) {
  const place = isNumber(run.queue_position) ? queueText(run.queue_position) : "";
  return [[place, reasonOf(run)].filter(Boolean).join(": "), run.warning].filter(Boolean).join(" ");
}

function showReason(run) {
  const why = reasonText(run);
  const calm = run.state === "running" && !run.warning;
  $("#run-reason").hidden = !why;
  $("#run-reason").className = calm ? "reason muted" : `reason notice ${run.state === "failed" ? "bad" : ""}`;
  setText($("#run-reason"), why);
}

// Shows that the run in a link cannot be shown. `missing`: {name, error}.
function showMissing({name, error}) {
  setText($("#run-title"), name);
  $("#run-state").className = "badge bad";
  setText($("#run-state"), error.status === 404 ? "not found" : "not loaded");
  $("#run-reason").hidden = false;
  $("#run-reason").className = "reason notice bad";
  const next = error.status === 404 ? ". Choose a run in the list, or search for it there." : "";
  setText($("#run-reason"), error.message + next);
}

let shownLabels = "";
function showLabels(run, onLabel) {
  const key = JSON.stringify([run.id, run.labels]);
  if (key === shownLabels) return;
  shownLabels = key;
  $("#run-labels").replaceChildren(...labelChips(run.labels, onLabel));
}

function progressText(run) {
  const nodes = [...new Set((run.placement || []).map((one) => one.node))];
  const ranks = run.placement?.length || 0;
  const where = ranks > 0 ? ` · ${ranks} rank${ranks === 1 ? "" : "s"} on ${nodes.join(", ")}` : "";
  const percent = Math.floor(progressOf(run) * 100);
  const parent = run.initial_model ? ` · began with ${run.initial_model}` : "";
  const use = run.use ? ` · ${useText(run.use)}` : "";
  return `step ${grouped(run.step || 0)} of ${grouped(run.target_steps || 0)}, ${percent}%${where}${use}${parent}`;
}

// `model`: the model name of the run's newest checkpoint; null if it is not served or not known yet.
function showSummary(run, onLabel, model) {
  setText($("#run-title"), run.name);
  document.title = `${run.name}${run.state === "running" ? ` ${Math.floor(progressOf(run) * 100)}%` : ""} · gp`;
  showState($("#run-state"), run);
  showLabels(run, onLabel);
  $("#run-note").hidden = !run.note;
  setText($("#run-note"), run.note ?? "");
  $("#overlay-lineage").hidden = !isForked(run);
  showReason(run);
  $("#run-progress").value = progressOf(run);
  setText($("#run-progress-text"), progressText(run));
  showTiles(run);
  $("#run-playground").hidden = !model;
  const address = playgroundLink(model ?? "");
  if ($("#run-playground").getAttribute("href") !== address) $("#run-playground").setAttribute("href", address);
}

const playgroundLink = (model) => `./#${new URLSearchParams({model})}`;

// Updates texts such as "3 min ago" in place, because building the table again would lose the focus.
function refreshTimes() {
  for (const element of document.querySelectorAll("[data-at]")) setText(element, agoText(Number(element.dataset.at)));
}

// ---- checkpoints ----

function checkpointRow(checkpoint) {
  const badges = node("span", {class: "badges"},
    checkpoint.latest ? node("span", {class: "badge accent"}, "latest") : null,
    checkpoint.best ? node("span", {class: "badge good"}, "best") : null,
    checkpoint.quarantined ? node("span", {class: "badge bad", title: checkpoint.quarantined}, "damaged") : null);
  const {model} = checkpoint;
  const label = `Open ${model} in the playground`;
  return node("tr", {}, node("th", {scope: "row", class: "number"}, grouped(checkpoint.step), " ", badges),
    node("td", {class: "number"}, decimals(checkpoint.validation_loss, 4)),
    node("td", {class: "number size"}, bytesText(checkpoint.size_bytes)),
    node("td", {class: "number saved", "data-at": checkpoint.sealed_at}, agoText(checkpoint.sealed_at)),
    node("td", {}, model && !checkpoint.quarantined
      ? node("a", {class: "button compact", href: playgroundLink(model), "aria-label": label}, "Playground")
      : node("span", {class: "muted small"}, checkpoint.quarantined || "not served")));
}

function showCheckpoints(checkpoints) {
  setText($("#checkpoints-count"), checkpoints.length ? String(checkpoints.length) : "");
  if (checkpoints.length === 0) {
    $("#checkpoints").replaceChildren(node("p", {class: "muted pad"},
      "No checkpoint yet. ", node("code", {}, "checkpoint.every"),
      " in the run file says after how many steps one is saved; the last step always is."));
    return;
  }
  const heads = [["Step"], ["Val. loss"], ["Size", "size"], ["Saved", "saved"]].map(([head, kind = null]) =>
    node("th", {scope: "col", class: kind}, head));
  heads.push(node("th", {scope: "col"}, node("span", {class: "visually-hidden"}, "Playground")));
  const newestFirst = [...checkpoints].sort((one, other) => other.step - one.step);
  $("#checkpoints").replaceChildren(node("table", {},
    node("thead", {}, node("tr", {}, ...heads)), node("tbody", {}, ...newestFirst.map(checkpointRow))));
}

// ---- samples ----

const sampleView = {samples: [], index: -1, follow: true};

function showSample(index) {
  const {samples} = sampleView;
  sampleView.index = Math.min(samples.length - 1, Math.max(0, index));
  sampleView.follow = sampleView.index === samples.length - 1;
  const sample = samples[sampleView.index];
  $("#sample-slider").max = samples.length - 1;
  $("#sample-slider").value = sampleView.index;
  $("#sample-slider").setAttribute("aria-valuetext", `step ${sample.step}`);
  setText($("#sample-step"), `step ${grouped(sample.step)}`);
  setText($("#sample-text"), sample.text);
  $("#sample-before").disabled = sampleView.index === 0;
  $("#sample-after").disabled = sampleView.follow;
}

// Shows the newest sample, unless the user has chosen another one.
function showSamples(samples, otherRun) {
  sampleView.samples = samples;
  $("#sample-bar").hidden = samples.length === 0;
  if (otherRun) sampleView.follow = true;
  if (samples.length > 0) return showSample(sampleView.follow ? samples.length - 1 : sampleView.index);
  setText($("#sample-step"), "");
  $("#sample-text").replaceChildren("No samples. ", node("code", {}, "sample.every"),
    " in the run file makes the run generate a sample every N steps.");
}

function startSamples() {
  $("#sample-before").append(picture("left"));
  $("#sample-after").append(picture("right"));
  $("#sample-before").addEventListener("click", () => showSample(sampleView.index - 1));
  $("#sample-after").addEventListener("click", () => showSample(sampleView.index + 1));
  $("#sample-slider").addEventListener("input", () => showSample(Number($("#sample-slider").value)));
}

// ---- events ----

const EVENT_TONES = {rank_failed: "bad", checkpoint_damaged: "bad", requeued: "warn", warned: "warn", started: "good"};
const QUIET_EVENTS = ["checkpoint_sealed", "checkpoint_retired", "checkpoint_verified", "checkpoint_read"];

function eventRow(event, warning) {
  const when = new Date(event.at * 1000);
  const tone = event.kind === "ended" ? toneOf({state: event.state, warning}) : EVENT_TONES[event.kind];
  const time = {class: "muted small number", datetime: when.toISOString(), title: when.toLocaleString()};
  return node("li", {}, node("time", {...time, "data-at": event.at}, agoText(event.at)),
    node("span", {class: `badge ${tone ?? ""}`}, event.kind.replaceAll("_", " ")),
    node("span", {class: "words"}, [event.reason, event.actor ? `(${event.actor})` : ""].filter(Boolean).join(" ")));
}

function showEvents({events, run}) {
  const all = $("#all-events").checked;
  const shown = events.filter((event) => all || !QUIET_EVENTS.includes(event.kind)).reverse();
  $("#events").replaceChildren(shown.length > 0 ? node("ol", {class: "events"}, ...shown.map((event) => eventRow(event, run.warning)))
    : node("p", {class: "muted pad"}, events.length > 0 ? "Nothing but checkpoints lately." : "Nothing happened yet."));
}

function showDetails(details, otherRun) {
  showCheckpoints(details.checkpoints);
  showSamples(details.samples, otherRun);
  showEvents(details);
  setText($("#run-file"), details.run.resolved || "");
}
