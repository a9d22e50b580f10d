"use strict";
// The playground page: its state, the handlers of its buttons, and which part is shown when. Loaded last.

let generations = [];   // the cards on the page
let running = false;
let linkTimer = 0;

const learnMode = () => settings.mode === "learn";
const chosenGroup = () => groupOf(settings.model);

// The models that the next texts will be requested from.
function chosenModels() {
  const group = chosenGroup();
  if (!group) return [];
  if (!learnMode()) return [settings.model];
  return chosenSteps(group).map((step) => group.steps.find((entry) => entry.step === step).id);
}

// The steps of the columns: those chosen in the settings that still exist, otherwise evenly spread ones.
function chosenSteps(group) {
  const known = (settings.steps || []).filter((step) => group.steps.some((entry) => entry.step === step));
  return known.length > 0 ? known : spreadSteps(group, settings.columns);
}

// ---- what is shown ----

function showOnly(name) {
  for (const id of ["loading", "no-model", "unreachable", "workspace"]) $(`#${id}`).hidden = id !== name;
}

function showModel() {
  const group = chosenGroup();
  showRuns(group);
  $("#one-model").hidden = learnMode() || !group;
  $("#learn-model").hidden = !learnMode() || !group;
  if (!group) return $("#model-facts").replaceChildren(node("dt", {}, `${noModelText()} Choose another one.`));
  if (learnMode()) showLearning(group);
  else showSteps(group, settings.model);
  const entry = entryOf(learnMode() ? newestOf(group) : settings.model);
  showFacts(entry);
  limitLength(entry);
}

function showLearning(group) {
  const count = group.steps.length;
  for (const button of $("#columns").children) {
    button.setAttribute("aria-pressed", String(Number(button.textContent) === chosenSteps(group).length));
  }
  $("#learn-hint").textContent = count < 3
    ? `This run has kept ${count || "no"} checkpoint${count === 1 ? "" : "s"} by step. ` +
      "More are kept with checkpoint.every and checkpoint.keep_every in its run file."
    : "Compares the same prompt and seed at several steps of one run.";
}

function showMode() {
  $("#mode-one").setAttribute("aria-pressed", String(!learnMode()));
  $("#mode-learn").setAttribute("aria-pressed", String(learnMode()));
  $("#output").className = learnMode() ? "columns" : "";
}

function showRunning() {
  $("#generate").hidden = running;
  $("#stop").hidden = !running;
  $("#output").setAttribute("aria-busy", String(running));
}

function showColours() {
  $("#output").classList.toggle("coloured", settings.colours);
  $("#scale").hidden = !settings.colours;
}

function showAll() {
  showModel();
  showSettings();
  showMode();
  showColours();
  showRunning();
  showPromptLength();
}

// ---- cards ----

function stepSelect(group, index, steps) {
  const select = node("select", {"aria-label": `Checkpoint of column ${index + 1}`},
    ...group.steps.map((entry) => node("option", {value: entry.step}, `step ${grouped(entry.step)}`)));
  select.value = steps[index];
  select.addEventListener("change", () => {
    settings.steps = steps.map((step, i) => i === index ? Number(select.value) : step);
    changed();
    buildCards();
  });
  return select;
}

function cardHead(model, index) {
  if (!learnMode()) return node("h3", {}, node("code", {}, model));
  const group = chosenGroup();
  const loss = modelList.byId.get(model)?.validation_loss;
  return node("div", {class: "column-head"}, stepSelect(group, index, chosenSteps(group)),
    isNumber(loss) && node("span", {class: "muted small"}, `validation loss ${decimals(loss, 2)}`));
}

function buildCards() {
  const actions = {branch: writeFrom, proceed: writeFrom, again: generate};
  generations = chosenModels().map((model, index) => new Generation(model, cardHead(model, index), actions));
  for (const generation of generations) {
    generation.texts.append(node("p", {class: "hint muted"}, learnMode() ? "Its text appears here." :
      "The text appears here. Ctrl+Enter starts it, Esc stops it."));
  }
  $("#output").replaceChildren(...generations.map((generation) => generation.element));
  if (generations.length === 0) {
    $("#output").append(node("p", {class: "hint muted"},
      noModelText() || "This model has no checkpoints by step to compare."));
  }
  $("#output").classList.toggle("several", !learnMode() && settings.n > 1);
}

// ---- running ----

function apiBody(model) {
  const body = {...requestBody(model), stream: true, stream_options: {include_usage: true}};
  if (settings.colours) body.logprobs = 5;
  return body;
}

// Whether the prompt fits into the context. If its length is not known within 2 s, the gateway checks it.
async function promptFits() {
  await Promise.race([countPromptNow(), wait(2000)]);
  if (isPromptTooLong()) announce($("#generate").title);
  return !isPromptTooLong();
}

async function generate() {
  if (running) return;
  if (noModelText()) return announce(noModelText());
  if (chosenModels().length === 0) return;
  if (isPromptTooLong()) return announce($("#generate").title);
  if (settings.fresh) settings.seed = newSeed();
  showSettings();
  hideTokenCard();
  storeLink();
  buildCards();
  running = true;
  showRunning();
  if (await promptFits()) await write(generations);
  else restoreTexts(generations);
  running = false;
  showRunning();
}

async function write(asked) {
  announce(`Writing with ${asked.map((generation) => generation.model).join(", ")}`);
  await Promise.all(asked.map((generation) => generation.run(apiBody(generation.model))));
  keepTexts(asked);
  rememberTexts(asked);
  announceEnd(asked);
}

function stop() {
  for (const generation of generations) generation.stop();
}

function announceEnd(asked) {
  const failed = asked.filter((generation) => generation.state === "failed").length;
  if (failed > 0) return;  // the card's alert announces the error
  const words = asked.map((generation) => `${generation.badge.textContent}, ${generation.speedText()}`);
  announce(words.join("; "));
}

function rememberTexts(asked) {
  for (const generation of asked) {
    if (!generation.text()) continue;
    addToHistory({at: Date.now(), model: generation.resolved || generation.model, prompt: generation.prompt,
      text: generation.text(), link: settingsLink().split("#")[1]});
  }
  showHistory(restorePast);
}

async function restorePast(entry) {
  restoreSettings(entry.link);
  settings.model = entry.model;
  await nameSettingsModel();
  changed();
  buildCards();
  const generation = generations[0];
  if (generation && !learnMode()) {
    generation.restore({prompt: entry.prompt, texts: [{text: entry.text, logprobs: null}], badge: ["From before", ""], speed: ""});
    keepTexts(generations);
  }
  $("#prompt").focus();
}

// Makes `text` the prompt and generates its continuation.
function writeFrom(text) {
  if (running) return;
  settings.prompt = text;
  changed();
  generate();
}

// ---- settings and link ----

function storeLink() {
  clearTimeout(linkTimer);
  history.replaceState(null, "", settingsLink());
}

// After any change of a setting: show it, and put it into the address a moment later.
function changed() {
  showAll();
  clearTimeout(linkTimer);
  linkTimer = setTimeout(storeLink, 250);
}

function change(name, value) {
  settings[name] = value;
  changed();
}

// ---- models ----

async function refreshModels() {
  const before = chosenModels().join();
  await loadModels();
  if (modelList.groups.length === 0) return showOnly("no-model");
  if (!settings.model) settings.model = newestOf(modelList.groups[0]);
  await nameModel(settings.model);
  const first = $("#workspace").hidden;
  showOnly("workspace");
  showAll();
  // Rebuild the cards for another choice of models only while they are all empty: cards with texts stay.
  const empty = !running && generations.every((one) => one.state === "idle");
  if (first || (empty && before !== chosenModels().join())) buildCards();
  if (!first) return;
  restoreTexts(generations);
  countPrompt();
}

// Resolves the name of the model in the settings. If the gateway does not answer, the next refresh tries again.
async function nameSettingsModel() {
  await nameModel(settings.model).catch((error) => toast(error.message));
}

async function followHash() {
  restoreSettings(location.hash);
  await nameSettingsModel();
  showAll();
  buildCards();
  countPrompt();
}

// Refreshes the models every few seconds, so that new checkpoints of a live run appear by themselves.
async function followModels() {
  for (;;) {
    let pause = 5000;
    try {
      if (!document.hidden && !running) await refreshModels();
    } catch (error) {
      pause = 3000;
      if ($("#workspace").hidden) showUnreachable(error);
      if (error.status === 401) return showLocked(error);
    }
    await wait(pause);
  }
}

function showLocked(error) {
  $("#top-state").className = "badge bad";
  $("#top-state").textContent = error.title;
  $("#unreachable-retry").textContent = "Enter a key";
}

function showUnreachable(error) {
  $("#unreachable-title").textContent =
    error.title ?? (error.status === 503 ? "The gateway is starting" : "The gateway does not answer");
  $("#unreachable-text").textContent = error.message;
  $("#unreachable-commands").hidden = Boolean(error.status);
  showOnly("unreachable");
}

// ---- start ----

function startButtons() {
  $("#generate").append(picture("play"), "Generate", node("kbd", {"aria-hidden": "true"}, "Ctrl ↵"));
  $("#stop").append(picture("stop"), "Stop", node("kbd", {"aria-hidden": "true"}, "Esc"));
  $("#dice").append(picture("dice"));
  $("#code-button").append(picture("code"), node("span", {}, "Code"));
  $("#link-button").append(picture("link"), node("span", {}, "Copy link"));
  $("#code-close").append(picture("close"));
  $("#generate").addEventListener("click", generate);
  $("#stop").addEventListener("click", () => { stop(); });
  $("#link-button").addEventListener("click", () => { storeLink(); copyText(settingsLink(), "Link"); });
  $("#dice").addEventListener("click", () => { settings.fresh = false; change("seed", newSeed()); });
  $("#clear-history").addEventListener("click", () => { clearHistory(); showHistory(restorePast); });
  $("#reset-settings").addEventListener("click", () => { resetSettings(); changed(); });
  $("#unreachable-retry").addEventListener("click", () => location.reload());
}

function startFields() {
  $("#prompt").addEventListener("input", () => { change("prompt", $("#prompt").value); countPrompt(); });
  $("#stop-strings").addEventListener("input", () => change("stop", $("#stop-strings").value));
  $("#seed").addEventListener("change", () => {
    settings.fresh = false;
    settings.seed = Math.min(4294967295, Math.max(0, Math.floor(Number($("#seed").value)) || 0));
    $("#seed").value = settings.seed;
    changed();
  });
  $("#fresh-seed").addEventListener("change", () => change("fresh", $("#fresh-seed").checked));
  $("#colours").addEventListener("change", () => change("colours", $("#colours").checked));
}

function startModelPicker() {
  const chooseModel = (id) => {
    settings.model = id;
    settings.steps = null;
    changed();
    if (!running) buildCards();
    countPrompt();
  };
  $("#run-select").addEventListener("change", () => chooseModel(newestOf(groupNamed($("#run-select").value))));
  $("#step-slider").addEventListener("input", () => chooseModel(chosenGroup().steps[$("#step-slider").value].id));
  $("#pick-newest").addEventListener("click", () => chooseModel(chosenGroup().alias.id));
  $("#pick-best").addEventListener("click", () => chooseModel(chosenGroup().best.id));
  for (const count of [2, 3, 4, 5, 6]) {
    $("#columns").append(node("button", {"aria-label": `${count} columns`, onclick: () => {
      settings.columns = count;
      chooseModel(settings.model);
    }}, String(count)));
  }
  for (const mode of ["one", "learn"]) {
    $(`#mode-${mode}`).addEventListener("click", () => {
      if (running) stop();
      change("mode", mode);
      buildCards();
    });
  }
}

function startKeyboard() {
  document.addEventListener("keydown", (event) => {
    if ($("dialog[open]")) return;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      generate();
    } else if (event.key === "Escape") {
      if (!$("#token-card").hidden) hideTokenCard();
      else if (running) stop();
    }
  });
}

function startEmptyState() {
  $("#no-model-commands").append(
    node("p", {class: "muted small"}, "A model in two minutes, on this machine:"), commandLine("make demo"),
    node("p", {class: "muted small"}, "Or start the service and train a run file of your own:"),
    commandLine("gpctl up --detach"), commandLine("gpctl submit run.yaml"));
  $("#unreachable-commands").append(commandLine("gpctl up --detach"));
}

function start() {
  startThemeButton($("#theme-button"));
  startKeyDialog();
  buildControls(changed);
  startButtons();
  startFields();
  startModelPicker();
  startCodeDialog(() => chosenModels()[0] ?? settings.model);
  startTokenCard();
  startKeyboard();
  startEmptyState();
  settings.seed = newSeed();
  restoreSettings(location.hash);
  addEventListener("hashchange", followHash);
  // On a phone the sampling settings start folded, because they are longer than its screen.
  const phone = matchMedia("(max-width: 900px)");
  const fold = () => { $("#settings").open = !phone.matches; };
  phone.addEventListener("change", fold);
  fold();
  addEventListener("pagehide", () => { if (running) keepTexts(generations); });
  showHistory(restorePast);
  followModels();
}

start();
