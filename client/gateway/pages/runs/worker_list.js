"use strict";
// Workers and their slots: which are connected, and which run holds which slot.

// "1.9 cores busy, 1.25 GiB"; empty while it is unknown.
const useText = (use) => use ? `${use.cores.toFixed(1)} cores busy, ${bytesText(use.memory_bytes)}` : "";

// What the machine uses, as far as its agent reports it.
function loadText(load) {
  if (!load) return "";
  const used = isNumber(load.memory_bytes) ? load.memory_bytes - load.available_memory_bytes : null;
  return [isNumber(load.busy_cores) && `${load.busy_cores.toFixed(1)} of ${load.cores} cores busy`,
    used !== null && `${bytesText(used)} of ${bytesText(load.memory_bytes)} used`,
    isNumber(load.free_storage_bytes) && `${bytesText(load.free_storage_bytes)} of disk free`].filter(Boolean).join(" · ");
}

function slotRow(slot) {
  const cores = isNumber(slot.cores) ? `${slot.cores} cores` : "";
  const size = [slot.device_name, cores, bytesText(slot.memory_bytes), useText(slot.use)].filter(Boolean).join(" · ");
  const use = slot.problem ? node("span", {class: "badge warn"}, "problem")
    : slot.run ? node("a", {class: "badge good", href: `#run=${encodeURIComponent(slot.run_id)}`}, slot.run)
      : node("span", {class: "badge"}, "free");
  return node("li", {},
    node("div", {class: "slot"}, node("code", {}, slot.id), node("span", {class: "muted small size"}, size), use),
    slot.problem ? node("p", {class: "small why"}, slot.problem) : null);
}

function workerCard(worker) {
  const facts = [worker.version && `version ${worker.version}`, worker.gpu_driver && `driver ${worker.gpu_driver}`,
    !worker.connected && `heard ${agoText(worker.last_heard_at)}`].filter(Boolean).join(" · ");
  return node("div", {class: "worker"},
    node("div", {class: "title"}, node("h3", {}, worker.name),
      node("span", {class: `badge ${worker.connected ? "good" : "bad"}`}, worker.connected ? "connected" : "gone")),
    node("p", {class: "muted small"}, facts),
    worker.load ? node("p", {class: "muted small load"}, loadText(worker.load)) : null,
    worker.problem ? node("p", {class: "small why"}, worker.problem) : null,
    node("ul", {}, ...worker.slots.map(slotRow)));
}

let shownWorkers = "";
function showWorkers(workers) {
  // Ignore last_heard_at, which changes all the time and is not shown.
  const text = JSON.stringify(workers, (name, value) => name === "last_heard_at" ? 0 : value);
  if (text === shownWorkers) return;
  shownWorkers = text;
  const slots = workers.flatMap((worker) => worker.slots);
  const busy = slots.filter((slot) => slot.run).length;
  setText($("#workers-count"), slots.length ? `${busy} of ${slots.length} slots busy` : "");
  const cards = workers.map(workerCard);
  if (cards.length === 0) {
    cards.push(node("div", {class: "pad"},
      node("p", {class: "muted"}, "No worker is connected. This command starts one beside the service:"),
      commandLine("gpctl up --detach")));
  }
  $("#worker-list").replaceChildren(...cards);
}
