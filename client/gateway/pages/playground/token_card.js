"use strict";
// The card beside a token: its probability and the alternatives. It follows the pointer or the arrow keys. A click, a tap or
// Enter pins it; then the user can choose an alternative and generate from there.

const tokenCard = {pinned: false, token: null, branch: null};

// Visible signs for white space.
const SIGNS = {" ": "␣", "\n": "↵", "\t": "⇥"};
const visibleText = (text) => text.replace(/[ \n\t]/g, (character) => SIGNS[character]) || "(nothing)";

function percentText(probability) {
  const percent = probability * 100;
  if (percent >= 99.95) return "100%";
  return percent < 0.01 ? "<0.01%" : `${percent.toFixed(percent < 1 ? 2 : 1)}%`;
}

// The token and its alternatives, the most probable first.
function alternativesOf(part) {
  const logprobs = {[part.text]: part.logprob, ...part.top};
  const entries = Object.entries(logprobs).map(([text, logprob]) => ({text, probability: Math.exp(logprob)}));
  return entries.sort((one, other) => other.probability - one.probability);
}

function alternativeRow(entry, part) {
  const bar = node("i", {class: "bar"});
  bar.style.width = `${Math.max(1, entry.probability * 100)}%`;
  const own = entry.text === part.text;
  const percent = percentText(entry.probability);
  const children = [bar, node("code", {}, visibleText(entry.text)), node("span", {class: "number"}, percent)];
  if (!tokenCard.pinned || own || entry.text.startsWith("bytes:")) {
    return node("div", {class: own ? "alternative own" : "alternative"}, ...children);
  }
  const label = `Continue with ${visibleText(entry.text)}, ${percent}`;
  const onclick = () => takeBranch(entry.text);
  return node("button", {class: "alternative", "aria-label": label, onclick}, ...children);
}

function takeBranch(text) {
  const {token, branch} = tokenCard;
  hideTokenCard();
  branch(token, text);
}

function showTokenCard(span, token, branch, pinned) {
  Object.assign(tokenCard, {pinned, token, branch});
  const part = token.parts[0];
  const card = $("#token-card");
  card.classList.toggle("pinned", pinned);
  const count = token.parts.length;
  const hint = node("p", {class: "muted small"}, `One character of ${count} tokens; the first:`);
  card.replaceChildren(
    node("div", {class: "row"}, node("code", {class: "chosen"}, visibleText(token.text)),
      node("strong", {class: "number"}, percentText(token.probability))),
    ...(count > 1 ? [hint] : []),
    ...alternativesOf(part).map((entry) => alternativeRow(entry, part)),
    node("p", {class: "muted small"}, pinned ? "Choose one to continue from there." : "Click to choose another one."));
  card.hidden = false;
  placeCard(card, span);
}

// Below the token, or above it where there is no room.
function placeCard(card, span) {
  const box = span.getClientRects()[0] || span.getBoundingClientRect();
  const left = Math.min(Math.max(8, box.left), innerWidth - card.offsetWidth - 8);
  const below = box.bottom + 8 + card.offsetHeight <= innerHeight;
  card.style.left = `${left}px`;
  card.style.top = `${below ? box.bottom + 6 : Math.max(8, box.top - card.offsetHeight - 6)}px`;
}

function hideTokenCard() {
  tokenCard.pinned = false;
  $("#token-card").hidden = true;
  for (const span of document.querySelectorAll(".token.current")) span.classList.remove("current");
}

function startTokenCard() {
  document.addEventListener("pointerdown", (event) => {
    if (!event.target.closest(".token, #token-card")) hideTokenCard();
  });
  addEventListener("scroll", hideTokenCard, {passive: true});
  addEventListener("resize", hideTokenCard);
}
