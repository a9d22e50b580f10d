"use strict";
// Sweeps: their list beside the runs, and the ranking and charts of the sweep that the open run belongs to. A sweep is
// requested again while it has not ended.

const SWEEP_TONES = {running: "good", cancelling: "warn", succeeded: "good", failed: "bad", cancelled: ""};
const SWEEPS_AGAIN_MS = 4000;

const sweepPath = ({name, namespace}) =>
  `api/v1/sweeps/${encodeURIComponent(name)}?${new URLSearchParams({namespace})}`;
const sweepKey = (sweep) => sweep ? `${sweep.namespace}/${sweep.name}` : "";
const trialsText = (sweep) => `${grouped(sweep.ended_trials)} of ${grouped(sweep.trial_count)} trials have ended`;

class Sweeps {
  // `onOpen(run id, label)` is called when the user has chosen a sweep: its best trial, and the label of its trials.
  constructor(onOpen) {
    this.onOpen = onOpen;
    this.chosen = null;  // {name, namespace} of the open run's sweep
    this.sweep = null;   // its newest answer
    this.askedAt = 0;
    this.listedAt = -Infinity;
    this.shownList = "";
    this.shown = "";
  }

  start() {
    new ResizeObserver(() => this.drawCharts()).observe($("#sweep-charts"));
  }

  // Called with each list of runs: a sweep is known by the label of its trials.
  takeRuns(runs) {
    const hasTrials = runs.some((run) => run.labels?.sweep && run.labels.trial);
    const isDue = performance.now() - this.listedAt > SWEEPS_AGAIN_MS;
    if (isDue && (hasTrials || this.shownList)) this.askList();
    const isLive = this.chosen && !this.sweep?.ended;
    if (isLive && performance.now() - this.askedAt > SWEEPS_AGAIN_MS) this.ask();
  }

  // Called with the details of the open run; null: no run is open.
  takeRun(run) {
    const name = run?.labels?.sweep;
    const chosen = name && run.labels.trial ? {name, namespace: run.namespace ?? "default"} : null;
    if (sweepKey(chosen) === sweepKey(this.chosen)) return this.draw(run?.id);
    Object.assign(this, {chosen, sweep: null});
    this.draw(run?.id);
    if (chosen) this.ask();
  }

  async ask() {
    const {chosen} = this;
    this.askedAt = performance.now();
    try {
      const {sweep} = await askJson(sweepPath(chosen), {cache: "no-store"});
      if (chosen === this.chosen) this.sweep = sweep;
    } catch (error) {
      if (error.status !== 404) return;  // the next list of runs asks again
      // A label of a user, or a sweep that ended long ago.
      if (chosen === this.chosen) this.sweep = null;
    }
    this.draw(this.open);
  }

  async askList() {
    this.listedAt = performance.now();
    try {
      this.drawList((await askJson("api/v1/sweeps", {cache: "no-store"})).sweeps);
    } catch {
      // An older coordinator has no sweeps; after another error the next list of runs asks again.
    }
  }

  async openSweep(listed) {
    try {
      const {sweep} = await askJson(sweepPath(listed), {cache: "no-store"});
      const run = sweep.trials.find(({number}) => number === sweep.best)?.run ?? sweep.trials.find((trial) => trial.run)?.run;
      if (!run) return toast(`No trial of ${sweep.name} has begun yet`);
      this.onOpen(run, `sweep=${sweep.name}`);
    } catch (error) {
      toast(error.message);
    }
  }

  drawList(sweeps) {
    const text = JSON.stringify(sweeps);
    if (text === this.shownList) return;
    this.shownList = text;
    $("#sweeps").hidden = sweeps.length === 0;
    setText($("#sweeps-count"), `${grouped(sweeps.filter(({ended}) => !ended).length)} running`);
    $("#sweep-list").replaceChildren(...sweeps.map((sweep) => node("li", {},
      node("button", {class: "plain sweep", onclick: () => this.openSweep(sweep)},
        node("span", {class: "title"}, node("span", {class: "name"}, sweep.name),
          node("span", {class: `badge ${SWEEP_TONES[sweep.state] ?? ""}`}, sweep.state)),
        node("span", {class: "facts small number"}, trialsText(sweep))))));
  }

  // `open`: the id of the open run, whose row and dots are marked.
  draw(open) {
    this.open = open;
    const {sweep} = this;
    $("#sweep").hidden = !sweep;
    const text = JSON.stringify([sweep, open]);
    if (!sweep || text === this.shown) return;
    this.shown = text;
    setText($("#sweep-title"), `Sweep ${sweep.name}`);
    setText($("#sweep-state"), `${sweep.state}: ${sweep.ended ? sweep.reason : trialsText(sweep)}`);
    $("#sweep-ranking").replaceChildren(rankingTable(sweep, open));
    this.drawCharts();
  }

  drawCharts() {
    if (!this.sweep) return;
    const keys = Object.keys(this.sweep.candidates[0]?.keys ?? {});
    const figures = keys.map((key) => sweepFigure(this.sweep, key, this.open));
    $("#sweep-charts").replaceChildren(...figures.map(({figure}) => figure));
    for (const {figure, draw} of figures) draw($(".sweep-plot", figure));
  }
}

// "+0.0123", and whether seeds alone differ as much.
function differenceText(candidate, isFirst) {
  if (isFirst || candidate.mean === null) return "";
  if (!candidate.comparable) return "fewer steps";
  return `${candidate.difference < 0 ? "−" : "+"}${Math.abs(candidate.difference).toFixed(4)}${candidate.is_noise ? " (noise)" : ""}`;
}

function trialLinks(sweep, candidate, open) {
  return candidate.trials.map((number) => {
    const trial = sweep.trials[number - 1];
    if (!trial.run) return node("span", {class: "muted", title: "its run was not submitted yet"}, String(number));
    return node("a", {href: runLink(trial.run), title: `${trial.run_name}: ${trial.state}`,
      "aria-current": trial.run === open ? "true" : null}, String(number));
  });
}

// "done", "1 failed, 1 running"
function statesText(sweep, candidate) {
  const counts = new Map();
  for (const number of candidate.trials) {
    const {state} = sweep.trials[number - 1];
    const text = state === "waiting" && sweep.ended ? "not started" : state;
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  const total = candidate.trials.length;
  return [...counts].map(([state, count]) => count === total ? state : `${count} ${state}`).join(", ");
}

function rankingTable(sweep, open) {
  const keys = Object.keys(sweep.candidates[0]?.keys ?? {});
  const head = (title, kind) => node("th", {scope: "col", class: kind}, title);
  const rows = sweep.candidates.map((candidate, i) => {
    const links = trialLinks(sweep, candidate, open);
    const isOpen = candidate.trials.some((number) => sweep.trials[number - 1].run === open);
    const known = candidate.mean !== null;
    return node("tr", {class: isOpen ? "is-open" : null},
      node("td", {class: "number"}, known ? String(i + 1) : "–"),
      ...keys.map((key) => node("td", {class: "number"}, candidate.keys[key] ?? "")),
      node("td", {class: "number"}, decimals(candidate.mean, 4)),
      node("td", {class: "number"}, decimals(candidate.deviation, 4)),
      node("td", {class: "number"}, known ? differenceText(candidate, i === 0) : ""),
      node("td", {class: "number"}, known ? grouped(candidate.steps) : "–"),
      node("td", {class: "trials"}, ...links.flatMap((link, place) => place === 0 ? [link] : [" ", link])),
      node("td", {}, statesText(sweep, candidate)));
  });
  return node("table", {}, node("thead", {}, node("tr", {}, head("Rank"), ...keys.map((key) => head(node("code", {}, key))),
    head("Val. loss"), head("Spread"), head("vs best"), head("Steps"), head("Trials", "trials"), head("State"))),
  node("tbody", {}, ...rows));
}
