"use strict";
// The runs page: the open run, the runs whose curves are laid over it, and the event stream that updates all of it. Loaded
// last.

const view = {
  runs: [],           // the list of the event stream
  known: new Map(),   // runs from a link or opened before, which may be in no list: id -> run
  open: null, overlays: [], missing: null, details: null, follower: null, started: false, connected: false,
  coordinator: null,  // the coordinator's state in the newest message
  refusal: null,      // the gateway's error if it refuses the event stream
};
const store = new PointStore();
const colours = new RunColours();
const search = new RunSearch(() => { showList(); if (view.started) storeLink(); });
const comparison = new Comparison();
const sweeps = new Sweeps((id, label) => {
  chooseLabel(label);
  openRun(id);
});
const turn = new StreamTurn(() => follow(true));
let group = null;  // the ChartGroup

// The newest known state of a run; null if it is unknown.
const runWith = (id) => view.runs.find((run) => run.id === id) ?? search.runs.find((run) => run.id === id) ??
  view.known.get(id) ?? null;
// Names that more than one known run has; such runs are shown with their ids.
function repeatedNames() {
  const ids = new Map();
  for (const run of [...view.runs, ...search.runs, ...view.known.values()]) {
    if (!ids.has(run.name)) ids.set(run.name, new Set());
    ids.get(run.name).add(run.id);
  }
  return new Set([...ids].filter(([, same]) => same.size > 1).map(([name]) => name));
}

// The name of a run in a legend.
function titleOf(id, repeated) {
  const run = runWith(id);
  if (!run) return id;
  return repeated.has(run.name) ? `${run.name} (${id})` : run.name;
}

const shownIds = () => view.open ? [view.open, ...view.overlays.filter((id) => id !== view.open && runWith(id))] : [];

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
  const repeated = repeatedNames();
  const runs = shownIds().map((id) => {
    const whole = store.whole(id);
    const colour = themeColour(colours.of(id));
    return {id, name: titleOf(id, repeated), colour, dotted: colours.isDotted(id), points: store.shown(id),
      begin: whole?.at[0] ?? 0};
  });
  const marks = view.details ? marksOf(view.details, store.whole(view.open)) : [];
  group.draw(runs, marks);
  $("#gap-help").hidden = !group.hasGaps;
  const {unmeasured} = group;
  $("#unmeasured").hidden = unmeasured.length === 0;
  setText($("#unmeasured"), `Not measured: ${unmeasured.join(", ")}.`);
}

// A piece of a run's line, for a legend.
function strokeOf(colour, dotted) {
  const piece = node("i", {class: dotted ? "stroke dotted" : "stroke", "aria-hidden": "true"});
  piece.style.color = colour;
  return piece;
}

// The legend and the table of the runs that are shown together.
let shownLegend = "";
function showLegend() {
  const repeated = repeatedNames();
  const entries = shownIds().map((id) =>
    ({id, name: titleOf(id, repeated), colour: colours.of(id), dotted: colours.isDotted(id)}));
  comparison.show(entries.map((entry) => ({...entry, run: runWith(entry.id)})).filter(({run}) => run));
  if (JSON.stringify(entries) === shownLegend) return;
  shownLegend = JSON.stringify(entries);
  const removal = ({id, name}) => node("button", {class: "plain remove", "aria-label": `Remove ${name} from the charts`,
    title: "Remove", onclick: () => overlayRun(id, false)}, picture("close"));
  const items = entries.map((entry) => node("li", {}, strokeOf(entry.colour, entry.dotted), entry.name,
    entry.id === view.open ? null : removal(entry)));
  if (entries.length > 2) {
    items.push(node("li", {}, node("button", {class: "plain compact", onclick: () => overlayRuns([])}, "Remove all others")));
  }
  $("#legend").replaceChildren(...items, node("li", {class: "at number", id: "legend-at", "aria-hidden": "true"}));
}

function showList() {
  showRunList(search.runs, search.list.counts, {
    open: view.open, shown: shownIds(), colour: (id) => colours.of(id), onOverlay: overlayRun, onLabel: chooseLabel,
    filtered: search.filters.length > 0, sortedBy: search.order, repeated: repeatedNames(),
  });
  search.showFoot();
  showOverlayListed();
}

// The button that shows the curves of all listed runs, there when the user has chosen runs by a label or another filter.
function showOverlayListed() {
  const others = search.filters.length > 0 ? search.runs.filter(({id}) => !shownIds().includes(id)).length : 0;
  $("#overlay-listed").hidden = others === 0 || !view.open;
  setText($("#overlay-listed"), `Overlay all ${grouped(search.runs.length)} listed runs`);
}

const chooseLabel = (label) => search.chooseLabel(label);

function showPage() {
  $("#unreachable").hidden = true;
  $("#no-runs").hidden = view.runs.length > 0 || Boolean(view.missing);
  $("#open-run").hidden = !view.open && !view.missing;
  $("#open-run").classList.toggle("is-missing", !view.open);
  showList();
  if (view.open && runWith(view.open)) showSummary(runWith(view.open), chooseLabel, view.details?.run.model);
  else if (view.missing) showMissing(view.missing);
}

// Why the page is not up to date: the gateway refuses the event stream, or does not reach the coordinator. Empty if it is.
function bannerText({coordinator, refusal}) {
  if (refusal) return `The gateway refuses to update this page: ${refusal.message}. The page retries automatically.`;
  if (!coordinator || coordinator.connected) return "";
  const why = coordinator.message ? ` (${coordinator.message})` : "";
  return `The coordinator at ${coordinator.address} does not answer${why}. ` +
    "This page shows the last known state; checkpoints can still be used.";
}

function showBanner() {
  const words = bannerText(view);
  $("#banner").hidden = !words;
  if (words) setText($("#banner p"), words);
}

const CONNECTION_TONES = {live: "good", paused: "", waiting: "warn", locked: "bad"};

function showConnection(state, {seconds, error} = {}) {
  const words = {live: "Live", paused: "Paused", waiting: "Reconnecting…", locked: error?.title}[state];
  const badge = $("#top-state");
  badge.className = `badge ${CONNECTION_TONES[state]}`;
  badge.title = {waiting: `The connection was lost; tries again in ${seconds} s`,
    paused: "Other tabs of this gateway are live; click this one to continue"}[state] ?? "";
  if (badge.textContent !== words && (state !== "live" || badge.textContent)) announce(words);
  badge.textContent = words;
}

// ---- points ----

const isLive = (run) => Boolean(run) && !run.terminal && run.step > 0;

async function loadPoints(id) {
  Object.assign(store, {width: group.width, runs: shownIds().length});
  try {
    await store.loadWhole(id);
    drawSoon();
  } catch (error) {
    if (error.status !== 404) toast(error.message);
  }
}

// The run's steps in the window, and one more at each side, so that the curves reach the edges of the chart.
function windowSteps(id, [from, to]) {
  if (group.axis === "step") return [Math.max(0, Math.floor(from) - 1), Math.ceil(to) + 1];
  const whole = store.whole(id);
  if (!whole || whole.step.length === 0) return null;
  const values = xValues(whole, whole.at[0], group.axis);
  const before = Math.max(0, lowerBound(values, from) - 1);
  const after = Math.min(values.length - 1, lowerBound(values, to));
  return [Math.max(0, whole.step[before] - 1), whole.step[after] + 1];
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
  storeLink();
  $("#zoom-reset").disabled = window === null;
  if (window) {
    zoomTimer = setTimeout(() => loadWindow(window), 120);
  } else {
    for (const id of shownIds()) store.dropWindow(id);
    drawSoon();
  }
}

// Moves the ends of the window by fractions of its width.
function moveWindow(toFrom, toTo) {
  const [first, last] = group.extent;
  const [from, to] = group.window || [first, last];
  const size = to - from;
  const next = [Math.max(first, from + toFrom * size), Math.min(last, to + toTo * size)];
  if (next[1] - next[0] < (group.axis === "step" ? 4 : 1)) return;
  group.zoom(next[0] <= first && next[1] >= last ? null : next);
}

// Loads the points of overlaid live runs every 5 s: the event stream sends only those of the open run.
let overlaysLoaded = 0;
function refreshOverlays() {
  if (performance.now() - overlaysLoaded < 5000 || group.window) return;
  overlaysLoaded = performance.now();
  for (const id of shownIds().slice(1)) if (isLive(runWith(id))) loadPoints(id);
}

// ---- events of the stream ----

function takeRuns(body) {
  const isBack = body.coordinator.connected && !view.connected;
  view.connected = body.coordinator.connected;
  view.runs = body.runs;
  search.take(body);
  view.coordinator = body.coordinator;
  showBanner();
  if (isBack) comparison.retry();
  if (!view.started) startView();
  else if (view.missing && (isBack || view.runs.some((run) => isNamed(run, view.missing.name)))) followLink();
  showPage();
  showLegend();
  refreshOverlays();
  sweeps.takeRuns(view.runs);
}

function takeDetails(details) {
  if (details.run.id !== view.open) return;
  const otherRun = view.details?.run.id !== details.run.id;
  view.details = details;
  view.known.set(details.run.id, details.run);
  if (otherRun) showLegend();
  showSummary(runWith(details.run.id), chooseLabel, details.run.model);
  showDetails(details, otherRun);
  sweeps.takeRun(details.run);
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

// Opens an event stream for the open run if this tab may have one, and closes the previous stream. `missed`: loads all points
// again, because some may have come while no stream was open.
function follow(missed = false) {
  view.follower?.stop();
  if (!turn.isLive) return showConnection("paused");
  const query = view.open ? `?run=${encodeURIComponent(view.open)}` : "";
  view.follower = followEvents(`api/v1/events${query}`, takeEvent, (state, more) => {
    showConnection(state, more);
    view.refusal = state === "waiting" && view.started ? more.error : null;
    showBanner();
    if (state === "live" && missed) for (const id of shownIds()) loadPoints(id);
    if (state !== "live" && !view.started) showUnreachable(more.error);
    missed = true;
  });
}

// `error`: a KeyError or another error of the gateway; undefined if there is no connection.
function showUnreachable(error) {
  $("#unreachable").hidden = false;
  setText($("#unreachable-title"), error?.title ??
    (error ? `The gateway refuses this page (${error.status})` : "The gateway does not answer"));
  setText($("#unreachable-text"), error?.message ?? `No connection to ${location.origin}. This page retries automatically.`);
  setText($("#unreachable-retry"), error?.title ? "Enter a key" : "Try again");
}

// ---- choosing ----

function linkOfView() {
  const values = new URLSearchParams();
  const run = view.open ?? view.missing?.name;
  if (run) values.set("run", run);
  const overlays = shownIds().slice(1);
  if (overlays.length > 0) {
    values.set("with", overlays.join(","));
    values.set("colours", shownIds().map((id) => colours.numberOf(id)).join(","));
  }
  if (group.window) values.set("window", group.window.map((x) => Number(x.toPrecision(8))).join(","));
  if (group.axis !== "step") values.set("axis", group.axis);
  if (group.log) values.set("log", "1");
  if (group.ignoresOutliers) values.set("outliers", "0");
  values.set("smoothing", group.smoothing);
  for (const [name, value] of search.linkValues) values.set(name, value);
  return `#${values}`;
}

const storeLink = () => history.replaceState(null, "", linkOfView());

const linkValues = () => new URLSearchParams(location.hash.slice(1));
const namedRun = () => linkValues().get("run");

// Sets the axis and the other view options from the link, and returns the link's values.
function restoreLink() {
  const values = linkValues();
  group.axis = Object.hasOwn(AXES, values.get("axis") ?? "") ? values.get("axis") : "step";
  group.log = values.get("log") === "1";
  group.ignoresOutliers = values.get("outliers") === "0";
  const smoothing = parseFloat(values.get("smoothing"));
  if (smoothing >= 0 && smoothing < 1) group.smoothing = smoothing;
  showControls();
  return values;
}

const isNamed = (run, reference) => run.id === reference || run.name === reference;

// The run with this id or name. Asks the gateway if the id is not in the list.
async function findRun(reference) {
  const listed = view.runs.find((run) => run.id === reference);
  if (listed) return listed;
  const {run} = await askJson(`api/v1/runs/${encodeURIComponent(reference)}`, {cache: "no-store"});
  view.known.set(run.id, run);
  return run;
}

// The link's list of texts or numbers; empty if it has none.
const listOf = (values, name) => (values.get(name) ?? "").split(",").filter(Boolean);

// The ids of the link's overlaid runs, without those that cannot be found.
async function findOverlays(references) {
  const found = await Promise.allSettled(references.slice(0, LINE_COUNT).map(findRun));
  const lost = references.filter((_, i) => found[i]?.status === "rejected");
  if (lost.length > 0) toast(`Not found, so not shown: ${lost.join(", ")}`);
  return [...new Set(found.filter(({status}) => status === "fulfilled").map(({value}) => value.id))];
}

// The link's part of the axis, [from, to]; null if it has none.
function windowOf(values) {
  const [from, to] = listOf(values, "window").map(Number);
  return from < to ? [from, to] : null;
}

let followed = 0;
// Opens the runs in the page's address: at the start, after Back or Forward, and when the user edits the address.
async function followLink() {
  const number = ++followed;
  const values = restoreLink();
  const reference = values.get("run");
  const overlays = await findOverlays(listOf(values, "with"));
  let run = null;
  let error = null;
  try {
    run = reference ? await findRun(reference) : view.runs.find((one) => one.state === "running") ?? view.runs[0];
  } catch (problem) {
    error = problem;
  }
  if (number !== followed) return;
  view.overlays = overlays;
  if (error) return showNoRun({name: reference, error});
  if (!run) return;
  const window = windowOf(values);
  await showRun(run.id, {numbers: listOf(values, "colours").map(Number), window});
  if (window && group.window === window) loadWindow(window);
}

// Opens the first run when the first list of runs has arrived.
function startView() {
  if (view.runs.length === 0 && !namedRun()) return;
  view.started = true;
  search.restore(linkValues());
  followLink();
}

// Shows that the gateway does not have the run in the link. Opens no other run in its place.
function showNoRun(missing) {
  Object.assign(view, {open: null, missing, details: null});
  document.title = `${missing.name} · gp`;
  announce(missing.error.message);
  showPage();
  follow();
}

// Opens a run, with the overlaid runs. `numbers` and `window`: the colours and the part of the axis in a link. The promise
// is fulfilled when the points are loaded.
function showRun(id, {numbers = [], window = null} = {}) {
  const isOther = view.open !== id;
  view.missing = null;
  view.open = id;
  view.overlays = view.overlays.filter((other) => other !== id).slice(0, LINE_COUNT - 1);
  colours.show(shownIds(), numbers);
  if (isOther) {
    view.details = null;
    resetZoom();
  }
  if (window) setWindow(window);
  showPage();
  showLegend();
  storeLink();
  const loads = shownIds().map(loadPoints);
  if (isOther) follow();
  drawSoon();
  return Promise.all(loads);
}

// Opens a run that the user has chosen. Adds it to the browser's history, so that Back returns to the previous run.
function openRun(id) {
  if (view.open === id) return;
  followed += 1;
  const scroll = $("#open-run").hidden === false && matchMedia("(max-width: 1000px)").matches;
  history.pushState(null, "", runLink(id));
  showRun(id);
  if (scroll) $("#open-run").scrollIntoView({behavior: "smooth", block: "start"});
}

function startLinks() {
  addEventListener("popstate", () => { if (view.started && namedRun()) followLink(); });
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#run="]');
    if (!link || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    openRun(new URLSearchParams(link.getAttribute("href").slice(1)).get("run"));
  });
}

function overlayRun(id, on) {
  const others = view.overlays.filter((other) => other !== id);
  overlayRuns(on ? [...others, id] : others);
}

// Lays the curves of these runs, and of no others, over those of the open run.
function overlayRuns(ids) {
  const shown = new Set(shownIds());
  const wanted = [...new Set(ids)].filter((id) => id !== view.open);
  if (wanted.length >= LINE_COUNT) toast(`${LINE_COUNT} runs can be shown together; the first ${LINE_COUNT} of them are`);
  view.overlays = wanted.slice(0, LINE_COUNT - 1);
  colours.show(shownIds());
  showList();
  showLegend();
  storeLink();
  drawSoon();
  const added = view.overlays.filter((id) => !shown.has(id));
  if (added.length === 0) return;
  Promise.all(added.map(loadPoints)).then(() => { if (group.window) loadWindow(group.window); });
}

// Keeps runs that are in no list, so that they can be shown.
function know(runs) {
  for (const run of runs) if (!runWith(run.id)) view.known.set(run.id, run);
}

function overlayListed() {
  know(search.runs);
  overlayRuns([...view.overlays, ...search.runs.map(({id}) => id)]);
}

async function overlayLineage() {
  const open = runWith(view.open);
  try {
    const {runs} = await listRuns([], SORTED_COUNT);
    if (open.id !== view.open) return;
    const lineage = lineageOf(open, runs.some(({id}) => id === open.id) ? runs : [open, ...runs]);
    if (lineage.length < 2) return toast(`${open.name} is not a fork and has no forks`);
    know(lineage);
    overlayRuns([...view.overlays, ...lineage.map(({id}) => id)]);
  } catch (error) {
    toast(error.message);
  }
}

function setWindow(window) {
  group.window = window;
  $("#zoom-reset").disabled = window === null;
}

function resetZoom() {
  setWindow(null);
  for (const id of store.sets.keys()) store.dropWindow(id);
}

// ---- controls ----

function showControls() {
  for (const axis in AXES) $(`#axis-${axis}`).setAttribute("aria-pressed", String(group.axis === axis));
  $("#log-scale").checked = group.log;
  $("#ignore-outliers").checked = group.ignoresOutliers;
  $("#smoothing").value = group.smoothing;
  $("#smoothing-text").textContent = group.smoothing.toFixed(2);
}

function changeCharts(change) {
  change();
  showControls();
  storeLink();
  drawSoon();
}

// Name, picture, and how far each end of the window moves, as a fraction of the window's width.
const ZOOM_BUTTONS = [
  ["left", "left", -0.4, -0.4], ["out", "minus", -0.5, 0.5], ["in", "plus", 0.25, -0.25], ["right", "right", 0.4, 0.4],
];

function startControls() {
  for (const axis in AXES) {
    $(`#axis-${axis}`).addEventListener("click", () => changeCharts(() => { resetZoom(); group.axis = axis; }));
  }
  $("#log-scale").addEventListener("change", () => changeCharts(() => { group.log = $("#log-scale").checked; }));
  $("#ignore-outliers").addEventListener("change", () => {
    changeCharts(() => { group.ignoresOutliers = $("#ignore-outliers").checked; });
  });
  $("#smoothing").addEventListener("input", () => {
    changeCharts(() => { group.smoothing = Number($("#smoothing").value); });
  });
  for (const [name, sign, from, to] of ZOOM_BUTTONS) {
    $(`#zoom-${name}`).append(picture(sign));
    $(`#zoom-${name}`).addEventListener("click", () => moveWindow(from, to));
  }
  $("#zoom-reset").addEventListener("click", () => group.zoom(null));
  $("#all-events").addEventListener("change", () => { if (view.details) showEvents(view.details); });
  $("#overlay-listed").addEventListener("click", overlayListed);
  $("#overlay-lineage").addEventListener("click", overlayLineage);
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
    drawSoon();  // the width of the names at the ends of the curves depends on that of the chart
  }).observe($("#charts"));
  new ResizeObserver(arrangeTiles).observe($("#run-tiles"));
  document.addEventListener("gp-theme", () => {
    drawSoon();
    sweeps.drawCharts();
  });
}

function start() {
  startThemeButton($("#theme-button"));
  startKeyDialog();
  startCharts();
  sweeps.start();
  startControls();
  search.start();
  startSamples();
  showControls();
  $("#run-playground").append(picture("play"), "Try it in the playground");
  $("#no-runs-commands").append(
    node("p", {class: "muted small"}, "A first run in two minutes, on this machine:"), commandLine("make demo"),
    node("p", {class: "muted small"}, "Or your own run file:"), commandLine("gpctl submit run.yaml"));
  setInterval(refreshTimes, 5000);
  startLinks();
  turn.start();
}

start();
