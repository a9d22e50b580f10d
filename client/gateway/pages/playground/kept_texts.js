"use strict";
// The texts that are on the page, kept in sessionStorage for a reload of this tab: without their tokens when it is full.

function keepTexts(generations) {
  const cards = generations.filter((one) => one.state !== "idle").map((one) => one.kept());
  const withoutTokens = () => cards.map((card) => ({...card, texts: card.texts.map(({text}) => ({text, logprobs: null}))}));
  for (const version of [() => cards, withoutTokens]) {
    try {
      return sessionStorage.setItem("gp-texts", JSON.stringify(version()));
    } catch {
      // Full: the tokens are most of it. Forbidden: a reload then begins with an empty card.
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

// Shows what was kept, when it is of the same models.
function restoreTexts(generations) {
  const cards = readTexts();
  if (cards.map((card) => card.model).join() !== generations.map((one) => one.model).join()) return;
  cards.forEach((card, i) => { if (card.texts.some(({text}) => text)) generations[i].restore(card); });
}
