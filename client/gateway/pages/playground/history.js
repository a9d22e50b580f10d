"use strict";
// The last 20 texts of this tab: prompt and text, and a button that restores their settings. Kept in sessionStorage.

const HISTORY_LENGTH = 20;
let pastTexts = readHistory();

function readHistory() {
  try {
    return JSON.parse(sessionStorage.getItem("gp-history")) || [];
  } catch {
    return [];
  }
}

function keepHistory() {
  try {
    sessionStorage.setItem("gp-history", JSON.stringify(pastTexts));
  } catch {
    // The storage is full or forbidden: the list then lasts until the page is closed.
  }
}

// `entry`: {at, model, prompt, text, link}.
function addToHistory(entry) {
  pastTexts = [entry, ...pastTexts].slice(0, HISTORY_LENGTH);
  keepHistory();
}

function clearHistory() {
  pastTexts = [];
  keepHistory();
}

const shortened = (text, length) => text.length > length ? `${text.slice(0, length).trimEnd()}…` : text;

function pastItem(entry, restore) {
  const time = new Date(entry.at).toLocaleTimeString("en-GB", {hour: "2-digit", minute: "2-digit"});
  const title = "Restore this prompt and its settings";
  return node("li", {}, node("button", {class: "past", title, onclick: () => restore(entry)},
    node("span", {class: "past-text"},
      node("span", {class: "muted"}, shortened(entry.prompt, 40)), shortened(entry.text, 90)),
    node("span", {class: "muted small"}, `${entry.model} · ${time}`)));
}

function showHistory(restore) {
  $("#history").hidden = pastTexts.length === 0;
  $("#history-list").replaceChildren(...pastTexts.map((entry) => pastItem(entry, restore)));
}
