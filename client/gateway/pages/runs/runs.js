"use strict";
// The page itself: which run is open, which are laid over it, and what keeps all of it up to date.

const COLOUR_COUNT = 8;
const view = {runs: [], open: null, overlays: [], details: null, follower: null, colours: new Map(), started: false};
const store = new PointStore();
const search = new RunSearch(() => showList());
let group = null;  // the ChartGroup

// One that is open may be in no list: then its details have it.
const runWith = (id) => view.runs.find((run) => run.id === id) ?? search.runs.find((run) => run.id === id) ??
  (view.details?.run.id === id ? view.details.run : null);
const shownIds = () => view.open ? [view.open, ...view.overlays.filter((id) => id !== view.open && runWith(id))] : [];

// A run keeps its colour as long as it is shown.
function colourOf(id) {
  if (!shownIds().includes(id)) return "";
  if (!view.colours.has(id)) {
    const taken = new Set(shownIds().map((other) => view.colours.get(other)));
    const free = Array.from({length: COLOUR_COUNT}, (_, i) => i).find((i) => !taken.has(i));
    view.colours.set(id, free ?? view.colours.size % COLOUR_COUNT);
  }
  return `var(--series-${view.colours.get(id)})`;
}

// The validation curve of a run: its colour, nearer to that of the text.
const secondColour = (id) => `color-mix(in srgb, ${colourOf(id)} 45%, var(--text))`;

function dropUnusedColours() {
  for (const id of view.colours.keys()) if (!shownIds().includes(id)) view.colours.delete(id);
}

// ---- drawing ----

let drawAsked = false;
function drawSoon() {
  if (drawAsked) return;
  drawAsked = true;
  requestAnimationFrame(() => {
    drawAsked = false;
    drawCharts();
  });
}

function drawCharts() {
  const runs = shownIds().map((id) => {
    const whole = store.whole(id);
    const colours = {colour: themeColour(colourOf(id)), secondColour: themeColour(secondColour(id))};
    return {id, name: runWith(id)?.name || id, ...colours, points: store.shown(id), begin: whole?.at[0] ?? 0};
  });
  const marks = view.details ? marksOf(view.details, store.whole(view.open)) : [];
  group.draw(runs, marks);
}

function showLegend() {
  $("#legend").replaceChildren(...shownIds().map((id) => {
    const dot = node("i", {class: "dot", "aria-hidden": "true"});
    dot.style.color = colourOf(id);
    return node("li", {}, dot, runWith(id)?.name || id);
  }), node("li", {class: "at number", id: "legend-at", "aria-hidden": "true"}));
}

function showList() {
  showRunList(search.runs, search.list.counts, {
    open: view.open, shown: (id) => shownIds().includes(id), colour: colourOf, onOpen: openRun, onOverlay: overlayRun,
    onLabel: (label) => search.chooseLabel(label), filtered: search.filters.length > 0,
  });
  search.showFoot();
}

function showPage() {
  const none = view.runs.length === 0;
  $("#unreachable").hidden = true;
  $("#no-runs").hidden = !none;
  $("#open-run").hidden = !view.open;
  showList();
  if (view.open && runWith(view.open)) showSummary(runWith(view.open));
}

function showBanner(coordinator) {
  const banner = $("#banner");
  banner.hidden = coordinator.connected;
  const why = coordinator.message ? ` (${coordinator.message})` : "";
  if (coordinator.connected) return;
  setText($("p", banner), `The coordinator at ${coordinator.address} does not answer${why}. ` +
    "What you see is what the gateway last knew; checkpoints can still be used.");
}

function showConnection(state, seconds) {
  const words = {live: "Live", waiting: "Reconnecting…", locked: "API key needed"}[state];
  const tone = {live: "good", waiting: "warn", locked: "bad"}[state];
  const badge = $("#top-state");
  badge.className = `badge ${tone}`;
  badge.title = state === "waiting" ? `The connection was lost; tries again in ${seconds} s` : "";
  if (badge.textContent !== words && (state !== "live" || badge.textContent)) announce(words);
  badge.textContent = words;
}

// ---- points ----

const isLive = (run) => Boolean(run) && !run.terminal && run.step > 0;

async function loadPoints(id) {
  store.width = group.width;
  try {
    await store.loadWhole(id);
    drawSoon();
  } catch (error) {
    if (error.status !== 404) toast(error.message);
  }
}

// The steps of a run between the ends of the window, one more at each side so that lines leave the chart.
function windowSteps(id, [from, to]) {
  if (group.axis === "step") return [Math.max(0, Math.floor(from) - 1), Math.ceil(to) + 1];
  const whole = store.whole(id);
  if (!whole || whole.step.length === 0) return null;
  const begin = whole.at[0];
  return [Math.max(0, stepAt(whole, begin + from) - 1), stepAt(whole, begin + to) + 1];
}

async function loadWindow(window) {
  await Promise.all(shownIds().map(async (id) => {
    const range = windowSteps(id, window);
    if (!range) return;
    try {
      await store.loadWindow(id, ...range);
    } catch (error) {
      toast(error.message);
    }
  }));
  if (group.window === window) drawSoon();
}

let zoomTimer = 0;
function zoomed(window) {
  clearTimeout(zoomTimer);
  $("#zoom-reset").disabled = window === null;
  if (window) {
    zoomTimer = setTimeout(() => loadWindow(window), 120);
  } else {
    for (const id of shownIds()) store.dropWindow(id);
    drawSoon();
  }
}

// Zooms or moves by a share of what is seen now.
function moveWindow(toFrom, toTo) {
  const [first, last] = group.extent;
  const [from, to] = group.window || [first, last];
  const size = to - from;
  const next = [Math.max(first, from + toFrom * size), Math.min(last, to + toTo * size)];
  if (next[1] - next[0] < (group.axis === "step" ? 4 : 1)) return;
  group.zoom(next[0] <= first && next[1] >= last ? null : next);
}

// Only the open run's points come with the event stream; the others are asked for again now and then.
let overlaysLoaded = 0;
function refreshOverlays() {
  if (performance.now() - overlaysLoaded < 5000 || group.window) return;
  overlaysLoaded = performance.now();
  for (const id of shownIds().slice(1)) if (isLive(runWith(id))) loadPoints(id);
}

// ---- events of the stream ----

function takeRuns(body) {
  view.runs = body.runs;
  search.take(body);
  showBanner(body.coordinator);
  if (!view.started) startView();
  showPage();
  refreshOverlays();
}

function takeDetails(details) {
  if (details.run.id !== view.open) return;
  const otherRun = view.details?.run.id !== details.run.id;
  view.details = details;
  if (!view.runs.some((run) => run.id === details.run.id)) showSummary(details.run);
  showDetails(details, otherRun);
  drawSoon();
}

function takePoints(event) {
  if (store.append(event.run, event.points)) loadPoints(event.run);
  if (shownIds().includes(event.run)) drawSoon();
}

function takeEvent(event) {
  if (event.type === "runs") takeRuns(event);
  else if (event.type === "workers") showWorkers(event.workers);
  else if (event.type === "run") takeDetails(event);
  else if (event.type === "points") takePoints(event);
}

// One stream for the open run; a new one when another run is opened. After a reconnect points may be missing.
function follow() {
  view.follower?.stop();
  let connected = 0;
  const query = view.open ? `?run=${encodeURIComponent(view.open)}` : "";
  view.follower = followEvents(`api/v1/events${query}`, takeEvent, (state, seconds) => {
    showConnection(state, seconds);
    if (state === "live" && connected++ > 0) for (const id of shownIds()) loadPoints(id);
    if (state !== "live" && !view.started) showUnreachable(state);
  });
}

function showUnreachable(state) {
  $("#unreachable").hidden = false;
  $("#unreachable-text").textContent = state === "locked" ? "It wants an API key. Reload the page to enter one." :
    `No connection to ${location.origin}. This page tries again by itself.`;
}

// ---- choosing ----

function storeLink() {
  const values = new URLSearchParams();
  if (view.open) values.set("run", view.open);
  const overlays = shownIds().slice(1);
  if (overlays.length > 0) values.set("with", overlays.join(","));
  if (group.axis !== "step") values.set("axis", group.axis);
  if (group.log) values.set("log", "1");
  values.set("smoothing", group.smoothing);
  history.replaceState(null, "", `#${values}`);
}

function restoreLink() {
  const values = new URLSearchParams(location.hash.slice(1));
  group.axis = values.get("axis") === "time" ? "time" : "step";
  group.log = values.get("log") === "1";
  const smoothing = parseFloat(values.get("smoothing"));
  if (smoothing >= 0 && smoothing < 1) group.smoothing = smoothing;
  view.overlays = (values.get("with") || "").split(",").filter(Boolean);
  return values.get("run");
}

// The id of the run that a link names. What is not in the list the gateway looks for.
async function idNamed(name) {
  const listed = view.runs.find((run) => run.id === name);
  if (listed) return listed.id;
  try {
    return (await askJson(`api/v1/runs/${encodeURIComponent(name)}`, {cache: "no-store"})).run.id;
  } catch (error) {
    toast(error.message);
    return null;
  }
}

// The first list of runs says what can be opened.
async function startView() {
  if (view.runs.length === 0) return;
  view.started = true;
  const named = restoreLink();
  showControls();
  const wanted = named ? await idNamed(named) : null;
  openRun(wanted ?? (view.runs.find((run) => run.state === "running") ?? view.runs[0]).id);
}

function openRun(id) {
  if (view.open === id) return;
  const scroll = view.open !== null && matchMedia("(max-width: 1000px)").matches;
  view.overlays = view.overlays.filter((other) => other !== id);
  view.open = id;
  view.details = null;
  dropUnusedColours();
  resetZoom();
  showPage();
  showLegend();
  for (const shown of shownIds()) loadPoints(shown);
  follow();
  storeLink();
  if (scroll) $("#open-run").scrollIntoView({behavior: "smooth", block: "start"});
}

function overlayRun(id, on) {
  view.overlays = view.overlays.filter((other) => other !== id);
  if (on) view.overlays.push(id);
  dropUnusedColours();
  showList();
  showLegend();
  storeLink();
  if (on) loadPoints(id).then(() => { if (group.window) loadWindow(group.window); });
  else drawSoon();
}

function resetZoom() {
  group.window = null;
  $("#zoom-reset").disabled = true;
  for (const id of store.sets.keys()) store.dropWindow(id);
}

// ---- controls ----

function showControls() {
  $("#axis-step").setAttribute("aria-pressed", String(group.axis === "step"));
  $("#axis-time").setAttribute("aria-pressed", String(group.axis === "time"));
  $("#log-scale").checked = group.log;
  $("#smoothing").value = group.smoothing;
  $("#smoothing-text").textContent = group.smoothing.toFixed(2);
}

function changeCharts(change) {
  change();
  showControls();
  storeLink();
  drawSoon();
}

// Name, picture, and how far the two ends of the window move, in shares of its width.
const ZOOM_BUTTONS = [
  ["left", "left", -0.4, -0.4], ["out", "minus", -0.5, 0.5], ["in", "plus", 0.25, -0.25], ["right", "right", 0.4, 0.4],
];

function startControls() {
  for (const axis of ["step", "time"]) {
    $(`#axis-${axis}`).addEventListener("click", () => changeCharts(() => { resetZoom(); group.axis = axis; }));
  }
  $("#log-scale").addEventListener("change", () => changeCharts(() => { group.log = $("#log-scale").checked; }));
  $("#smoothing").addEventListener("input", () => {
    changeCharts(() => { group.smoothing = Number($("#smoothing").value); });
  });
  for (const [name, sign, from, to] of ZOOM_BUTTONS) {
    $(`#zoom-${name}`).append(picture(sign));
    $(`#zoom-${name}`).addEventListener("click", () => moveWindow(from, to));
  }
  $("#zoom-reset").addEventListener("click", () => group.zoom(null));
  $("#all-events").addEventListener("change", () => { if (view.details) showEvents(view.details.events); });
  $("#unreachable-retry").addEventListener("click", () => location.reload());
}

function startCharts() {
  group = new ChartGroup(zoomed, (text) => { if ($("#legend-at")) $("#legend-at").textContent = text; });
  $("#charts").append(...group.charts.map((chart) => chart.element));
  let width = 0;
  new ResizeObserver(() => {
    if (group.width === width) return;
    width = group.width;
    group.resize();
  }).observe($("#charts"));
  document.addEventListener("gp-theme", drawSoon);
}

// A link to a run on this page, from a worker's slot or typed.
async function followLink() {
  const named = restoreLink();
  showControls();
  const wanted = named ? await idNamed(named) : null;
  if (wanted && wanted !== view.open) openRun(wanted);
  else drawSoon();
}

function start() {
  startThemeButton($("#theme-button"));
  startKeyDialog();
  startCharts();
  startControls();
  search.start();
  startSamples();
  showControls();
  $("#run-playground").append(picture("play"), "Try it in the playground");
  $("#no-runs-commands").append(
    node("p", {class: "muted small"}, "A first run in two minutes, on this machine:"), commandLine("make demo"),
    node("p", {class: "muted small"}, "Or your own run file:"), commandLine("gpctl submit run.yaml"));
  setInterval(refreshTimes, 5000);
  addEventListener("hashchange", followLink);
  follow();
}

start();
