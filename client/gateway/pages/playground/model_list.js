"use strict";
// The models of GET /v1/models, grouped by run or directory, and the picker that chooses from them.

const modelList = {
  groups: [],      // [{root, alias, best, steps: [entry, ascending], directory}], in the gateway's order
  byId: new Map(),
  names: new Map(), // names that are not in the list -> the id in byId that they stand for, or null if there is no such model
};

function groupModels(entries) {
  const groups = new Map();
  for (const entry of entries) {
    const root = entry.root || entry.id;
    if (!groups.has(root)) groups.set(root, {root, alias: null, best: null, directory: null, steps: []});
    const group = groups.get(root);
    if (entry.kind === "step") group.steps.push(entry);
    else group[entry.kind === "best" || entry.kind === "directory" ? entry.kind : "alias"] = entry;
  }
  for (const group of groups.values()) group.steps.sort((one, other) => one.step - other.step);
  return [...groups.values()];
}

async function loadModels() {
  const entries = (await askJson("v1/models")).data;
  const ids = entries.map((entry) => entry.id);
  if (ids.join("\n") !== [...modelList.byId.keys()].join("\n")) modelList.names.clear();
  modelList.groups = groupModels(entries);
  modelList.byId = new Map(entries.map((entry) => [entry.id, entry]));
}

// Resolves a model name that the list does not contain, such as RUN@latest or a run's id, by asking the gateway.
async function nameModel(id) {
  if (!id || modelList.byId.has(id) || modelList.names.has(id)) return;
  try {
    const {root, kind, step} = await askJson(`v1/models/${id.split("/").map(encodeURIComponent).join("/")}`);
    modelList.names.set(id, {step: `${root}@${step}`, best: `${root}@best`}[kind] ?? root);
  } catch (error) {
    if (error.status !== 404) throw error;
    modelList.names.set(id, null);
  }
}

const entryOf = (id) => modelList.byId.get(id) ?? modelList.byId.get(modelList.names.get(id));

const groupNamed = (root) => modelList.groups.find((group) => group.root === root) || null;

// The group that a model id belongs to, even if the checkpoint itself has been deleted. Null if there is no such model: then
// no other model may be used instead.
function groupOf(id) {
  const entry = entryOf(id);
  return groupNamed(entry ? entry.root || entry.id : (id || "").replace(/@[^@]*$/, ""));
}

const newestOf = (group) => (group.alias || group.directory || group.steps.at(-1) || group.best).id;

// `count` steps of a run, evenly spread, including the first and the newest.
function spreadSteps(group, count) {
  const steps = group.steps.map((entry) => entry.step);
  if (steps.length <= count) return steps;
  return Array.from({length: count}, (_, i) => steps[Math.round(i * (steps.length - 1) / (count - 1))]);
}

function showRuns(group) {
  const select = $("#run-select");
  const names = modelList.groups.map((one) => one.root);
  if (names.join("\n") !== [...select.options].map((option) => option.value).join("\n")) {
    select.replaceChildren(...names.map((name) => node("option", {value: name}, name)));
  }
  select.value = group?.root ?? "";
}

// Sets the slider to the step of the chosen model; "newest" and "best" have buttons beside it.
function showSteps(group, id) {
  const entry = entryOf(id);
  const slider = $("#step-slider");
  const at = group.steps.findIndex((one) => entry && one.step === entry.step);
  $("#step-row").hidden = group.steps.length === 0;
  slider.max = Math.max(0, group.steps.length - 1);
  slider.disabled = group.steps.length < 2;
  slider.value = at >= 0 ? at : slider.max;
  const step = entry ? entry.step : group.steps.at(-1)?.step;
  $("#step-text").textContent = isNumber(step) ? `step ${grouped(step)}` : "";
  slider.setAttribute("aria-valuetext", $("#step-text").textContent);
  $("#pick-newest").hidden = !group.alias;
  $("#pick-best").hidden = !group.best;
  $("#pick-newest").setAttribute("aria-pressed", String(Boolean(group.alias && entry === group.alias)));
  $("#pick-best").setAttribute("aria-pressed", String(Boolean(group.best && entry === group.best)));
}

const STATE_WORDS = {
  ready: "loaded", loading: "loading…", idle: "loads at first use", failed: "failed to load",
};

function showFacts(entry) {
  const facts = $("#model-facts");
  if (!entry) return facts.replaceChildren(node("dt", {}, "This checkpoint is gone; choose another one."));
  const pairs = [["Parameters", shortNumber(entry.parameters)], ["Context", `${grouped(entry.max_model_len)} tokens`],
    ["Validation loss", decimals(entry.validation_loss, 3)], ["State", STATE_WORDS[entry.state] || entry.state]];
  facts.replaceChildren(...pairs.map(([name, value]) => node("div", {}, node("dt", {}, name), node("dd", {}, value))));
}
