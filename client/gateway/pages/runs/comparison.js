"use strict";
// The table of the runs whose curves are shown together: their numbers, labels and notes, and the keys of their run files
// that differ.

// The rows above the keys: [title, (run) => text]. A row without texts is left out.
const COMPARED_FACTS = [
  ["State", (run) => stateText(run)],
  ["Steps", (run) => run.step ? `${grouped(run.step)} / ${grouped(run.target_steps)}` : ""],
  ["Tokens", (run) => run.tokens ? shortNumber(run.tokens) : ""],
  ["Loss", (run) => isNumber(run.loss) ? decimals(run.loss, 4) : ""],
  ["Validation loss", (run) => isNumber(run.validation_loss) ? decimals(run.validation_loss, 4) : ""],
  ["Tokens/s", (run) => isNumber(run.tokens_per_second) ? shortNumber(run.tokens_per_second) : ""],
  ["Labels", (run) => Object.entries(run.labels ?? {}).map(([key, value]) => `${key}=${value}`).join(", ")],
  ["Note", (run) => run.note ?? ""],
];

// Keys that other rows of the table show.
const isShownElsewhere = (key) => key === "name" || key.startsWith("labels.");

class Comparison {
  constructor() {
    this.asked = "";   // the runs of the newest request
    this.keys = null;  // [{key, values}] of these runs; null: not known yet
    this.problem = "";
    this.drawn = "";
  }

  // `runs`: [{run, name, colour, dotted}], as in the legend.
  show(runs) {
    $("#comparison").hidden = runs.length < 2;
    if (runs.length < 2) return;
    this.runs = runs;
    // A leg that trains a run further changes its run file, and the number of its steps with it.
    const wanted = JSON.stringify(runs.map(({run}) => [run.id, run.target_steps]));
    if (wanted !== this.asked) this.ask(wanted, runs.map(({run}) => run.id));
    this.draw();
  }

  // Requests the differences again if the last request failed.
  retry() {
    if (this.problem) this.asked = "";
  }

  async ask(wanted, ids) {
    Object.assign(this, {asked: wanted, keys: null, problem: ""});
    let answer = null;
    let problem = "";
    try {
      answer = await askJson(`api/v1/differences?${new URLSearchParams(ids.map((id) => ["run", id]))}`, {cache: "no-store"});
    } catch (error) {
      problem = error.message;
    }
    if (wanted !== this.asked) return;
    Object.assign(this, {keys: answer?.keys.filter(({key}) => !isShownElsewhere(key)) ?? null, problem});
    this.draw();
  }

  draw() {
    const facts = COMPARED_FACTS.map(([title, text]) => [title, this.runs.map(({run}) => text(run))])
      .filter(([, texts]) => texts.some((text) => text));
    const heads = this.runs.map(({run, name, colour, dotted}) => ({id: run.id, name, colour, dotted}));
    const {keys, problem} = this;
    const text = JSON.stringify([heads, facts, keys, problem]);
    if (text === this.drawn) return;
    this.drawn = text;
    const rows = [...facts.map(([title, texts]) => comparedRow(title, texts)),
      ...(keys ?? []).map(({key, values}) => comparedRow(node("code", {}, key), values, "key"))];
    const headRow = node("tr", {}, node("td"), ...heads.map(comparedHead));
    $("#compared").replaceChildren(node("table", {}, node("thead", {}, headRow), node("tbody", {}, ...rows)));
    setText($("#compared-state"), this.stateText());
  }

  stateText() {
    if (this.problem) return `The run files cannot be compared: ${this.problem}`;
    if (this.keys === null) return "Comparing the run files…";
    const {length} = this.keys;
    if (length === 0) return "The run files have the same values.";
    return `${grouped(length)} ${length === 1 ? "key" : "keys"} of the run files ${length === 1 ? "differs" : "differ"}.`;
  }
}

function comparedHead({id, name, colour, dotted}) {
  return node("th", {scope: "col"}, strokeOf(colour, dotted), node("a", {href: runLink(id), title: name}, name));
}

function comparedRow(title, texts, kind = "fact") {
  return node("tr", {class: kind}, node("th", {scope: "row"}, title),
    ...texts.map((text) => node("td", {class: "number"}, text || "–")));
}
