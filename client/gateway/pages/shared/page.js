"use strict";
// Functions of both pages that build and change the document. Text from runs and models is inserted as text nodes and
// attribute values only, never as HTML.
const $ = (selector, root = document) => root.querySelector(selector);

// node("button", {class: "plain", "aria-label": "Stop", onclick: stop}, "Stop"): an element with attributes,
// listeners (on…) and children (nodes or text).
function node(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// Copies one of the pictures that the page declares as <symbol id="picture-NAME">.
function picture(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
  use.setAttribute("href", `#picture-${name}`);
  svg.append(use);
  return svg;
}

// Lets a screen reader announce `text` once, without interrupting what it is reading.
function announce(text) {
  $("#announcements").textContent = text;
}

let toastTimer = 0;
function toast(text) {
  const box = $("#toast");
  box.textContent = text;
  box.hidden = false;
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => { box.hidden = true; }, 2200);
}

// Copies `text`. On a page without a secure origin there is no navigator.clipboard, so it uses execCommand there.
async function copyText(text, what) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = node("textarea", {"aria-hidden": "true", class: "visually-hidden"});
    area.value = text;
    ($("dialog[open]") || document.body).append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  announce(`${what} copied`);
  toast(`${what} copied`);
}

// A command to type, with a button that copies it.
function commandLine(command) {
  return node("div", {class: "command"}, node("code", {}, command),
    node("button", {class: "icon plain compact", "aria-label": `Copy the command ${command}`, title: "Copy",
      onclick: () => copyText(command, "Command")}, picture("copy")));
}

const wait = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

// Numbers as people read them.
const grouped = (number) => Math.round(number).toLocaleString("en-US");
const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

function decimals(value, digits) {
  return isNumber(value) ? value.toFixed(digits) : "–";
}

function shortNumber(value) {
  if (!isNumber(value)) return "–";
  for (const [size, unit] of [[1e12, "T"], [1e9, "B"], [1e6, "M"], [1e3, "k"]]) {
    if (Math.abs(value) >= size) return `${Number((value / size).toPrecision(3))}${unit}`;
  }
  return String(Number(value.toPrecision(3)));
}

function bytesText(bytes) {
  if (!isNumber(bytes)) return "–";
  for (const [size, unit] of [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]]) {
    if (bytes >= size) return `${Number((bytes / size).toPrecision(3))} ${unit}`;
  }
  return `${bytes} B`;
}

function durationText(seconds) {
  if (!isNumber(seconds) || seconds < 0) return "–";
  if (seconds < 60) return `${Math.round(seconds)} s`;
  if (seconds < 600) return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ${Math.floor(seconds % 3600 / 60)} min`;
  return `${Math.floor(seconds / 86400)} d ${Math.floor(seconds % 86400 / 3600)} h`;
}

// "3 min ago": one unit is enough.
function agoText(at) {
  const seconds = Math.max(0, Date.now() / 1000 - at);
  const [size, unit] = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]].find(([most]) => seconds >= most) || [1, "s"];
  return `${Math.floor(seconds / size)} ${unit} ago`;
}

// Marks the page that is open in the top bar.
for (const link of document.querySelectorAll(".top nav a")) {
  if (link.dataset.page === document.body.dataset.page) link.setAttribute("aria-current", "page");
}
