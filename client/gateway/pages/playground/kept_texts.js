"use strict";
// Saves the page's texts in sessionStorage, so that they are still there after a reload of this tab. If it is full, saves
// them without their tokens.

function keepTexts(generations) {
  const cards = generations.filter((one) => one.state !== "idle").map((one) => one.kept());
  const withoutTokens = () => cards.map((card) => ({...card, texts: card.texts.map(({text}) => ({text, logprobs: null}))}));
  for (const version of [() => cards, withoutTokens]) {
    try {
      return sessionStorage.setItem("gp-texts", JSON.stringify(version()));
    } catch {
      // The storage is full: try without the tokens, which take most of the space. If it is forbidden, a reload begins with
      // an empty card.
    }
  }
}

function readTexts() {
  try {
    return JSON.parse(sessionStorage.getItem("gp-texts")) ?? [];
  } catch {
    return [];
  }
}

// Shows the saved texts if they are of the models that the page shows now.
function restoreTexts(generations) {
  const cards = readTexts();
  if (cards.map((card) => card.model).join() !== generations.map((one) => one.model).join()) return;
  cards.forEach((card, i) => { if (card.texts.some(({text}) => text)) generations[i].restore(card); });
}
