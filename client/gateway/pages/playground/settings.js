"use strict";
// Every setting of the page, its control, and the link (URL fragment) that restores all of them.

const SLIDERS = [
  {name: "temperature", label: "Temperature", min: 0, max: 2, step: 0.05, value: 0.8,
    help: "0 always takes the likeliest token; higher values are more random"},
  {name: "max_tokens", label: "Length in tokens", min: 1, max: 65536, step: 1, value: 128,
    help: "Maximum number of tokens per text"},
  {name: "n", label: "Samples", min: 1, max: 8, step: 1, value: 1, help: "Texts for the same prompt"},
  {name: "top_k", label: "Top-k", min: 0, max: 200, step: 1, value: 50,
    help: "Only the k likeliest tokens; 0 means all"},
  {name: "top_p", label: "Top-p", min: 0.01, max: 1, step: 0.01, value: 1,
    help: "Only the likeliest tokens that together have this probability"},
  {name: "min_p", label: "Min-p", min: 0, max: 1, step: 0.01, value: 0,
    help: "Only tokens at least this likely, relative to the likeliest"},
  {name: "presence_penalty", label: "Presence penalty", min: -2, max: 2, step: 0.1, value: 0,
    help: "Above 0: tokens that already occurred become less likely"},
  {name: "frequency_penalty", label: "Frequency penalty", min: -2, max: 2, step: 0.1, value: 0,
    help: "Above 0: the more often a token occurred, the less likely it becomes"},
];
const DEFAULT_PROMPT = "Once upon a time";

// `columns` is the number of checkpoints shown side by side; `steps` are their steps, or null for evenly spread ones.
const settings = {
  mode: "one", model: "", columns: 4, steps: null, prompt: DEFAULT_PROMPT, seed: 1, fresh: true, stop: "",
  colours: true,
};
for (const slider of SLIDERS) settings[slider.name] = slider.value;

const newSeed = () => crypto.getRandomValues(new Uint32Array(1))[0] % 1000000;

function clampTo(slider, value) {
  const number = Number(value);
  if (!Number.isFinite(number)) return slider.value;
  // Keep three decimals of a typed number, which may be finer than the slider's step. Settings with whole steps are rounded.
  const rounded = slider.step < 1 ? Math.round(number * 1000) / 1000 : Math.round(number);
  return Math.min(slider.max, Math.max(slider.min, rounded));
}

// A slider with its number beside it; both change the setting, then `changed` is called.
function sliderRow(slider, changed) {
  const id = `set-${slider.name}`;
  const limits = {min: slider.min, max: slider.max, step: slider.step};
  const number = node("input", {type: "number", id, ...limits, "aria-describedby": `${id}-help`});
  const range = node("input", {type: "range", id: `${id}-range`, ...limits, "aria-label": `${slider.label}, slider`});
  const take = (value) => {
    settings[slider.name] = clampTo(slider, value);
    number.value = settings[slider.name];
    changed();
  };
  range.addEventListener("input", () => take(range.value));
  number.addEventListener("change", () => take(number.value));
  return node("div", {class: "slider", title: slider.help}, node("label", {for: id}, slider.label), number, range,
    node("span", {id: `${id}-help`, class: "visually-hidden"}, slider.help));
}

function buildControls(changed) {
  $("#controls").prepend(...SLIDERS.map((slider) => sliderRow(slider, changed)));
}

function showValue(input, value) {
  if (document.activeElement !== input) input.value = value;
}

// Sets every control to its setting, except a field in which the user is typing.
function showSettings() {
  for (const slider of SLIDERS) {
    showValue($(`#set-${slider.name}`), settings[slider.name]);
    $(`#set-${slider.name}-range`).value = settings[slider.name];
  }
  showValue($("#seed"), settings.seed);
  $("#fresh-seed").checked = settings.fresh;
  $("#colours").checked = settings.colours;
  for (const [selector, text] of [["#stop-strings", settings.stop], ["#prompt", settings.prompt]]) {
    if ($(selector).value !== text) $(selector).value = text;
  }
  $("#settings-summary").textContent = `temperature ${settings.temperature} · ${settings.max_tokens} tokens`;
}

// Limits the length setting to the model's context.
function limitLength(entry) {
  const slider = SLIDERS.find((one) => one.name === "max_tokens");
  slider.max = Math.max(1, (entry && entry.max_model_len ? entry.max_model_len : 1024) - 1);
  for (const input of document.querySelectorAll("#set-max_tokens, #set-max_tokens-range")) input.max = slider.max;
  settings.max_tokens = Math.min(settings.max_tokens, slider.max);
}

function resetSettings() {
  for (const slider of SLIDERS) settings[slider.name] = clampTo(slider, slider.value);
  settings.stop = "";
  settings.fresh = true;
}

// The stop strings, one per line of the field. The typed escapes \n, \t, \r and \\ stand for the characters.
function stopStrings() {
  const escapes = {n: "\n", t: "\t", r: "\r", "\\": "\\"};
  return settings.stop.split("\n").filter((line) => line !== "").slice(0, 4)
    .map((line) => line.replace(/\\([ntr\\])/g, (_, letter) => escapes[letter]));
}

// The address with every setting in its fragment.
function settingsLink() {
  const values = new URLSearchParams();
  for (const [name, value] of Object.entries(settings)) {
    if (name === "steps" ? value : value !== "") values.set(name, typeof value === "boolean" ? Number(value) : value);
  }
  return `${location.origin}${location.pathname}#${values}`;
}

function restoreNumbers(values) {
  for (const slider of SLIDERS) {
    if (values.has(slider.name)) settings[slider.name] = clampTo(slider, values.get(slider.name));
  }
  const seed = Number(values.get("seed"));
  if (values.has("seed") && Number.isSafeInteger(seed) && seed >= 0) settings.seed = seed;
  const columns = Number(values.get("columns"));
  if (columns >= 2 && columns <= 6) settings.columns = Math.round(columns);
}

// Sets the settings that a link's fragment contains and leaves the others. A link with a seed uses that seed, unless it also
// says fresh=1.
function restoreSettings(fragment) {
  const values = new URLSearchParams(fragment.replace(/^#/, ""));
  restoreNumbers(values);
  for (const name of ["prompt", "model", "stop"]) {
    if (values.has(name)) settings[name] = values.get(name);
  }
  if (values.has("mode")) settings.mode = values.get("mode") === "learn" ? "learn" : "one";
  if (values.has("steps")) {
    settings.steps = values.get("steps").split(",").map(Number).filter(Number.isFinite).slice(0, 6);
  }
  if (values.has("colours")) settings.colours = values.get("colours") !== "0";
  if (values.has("seed")) settings.fresh = values.get("fresh") === "1";
}
