"use strict";
// Colours of runs. A run keeps its colour when it is closed and opened again, and when the page is reloaded: the colours of
// the ten runs shown last are kept in localStorage.

const COLOUR_COUNT = 10;

class RunColours {
  constructor() {
    this.numbers = new Map();  // run id -> number of its colour; the run shown most recently is last
  }

  read() {
    try {
      const entries = JSON.parse(localStorage.getItem("gp-run-colours")) ?? [];
      return new Map(entries.filter(([, number]) => number >= 0 && number < COLOUR_COUNT));
    } catch {
      return this.numbers;  // localStorage is not available
    }
  }

  store() {
    try {
      localStorage.setItem("gp-run-colours", JSON.stringify([...this.numbers].slice(-COLOUR_COUNT)));
    } catch {
      // localStorage is not available: the colours then last until the page is closed.
    }
  }

  // Gives each of these runs, which are shown together, a different colour.
  show(ids) {
    this.numbers = this.read();  // another tab may have shown runs since
    for (const id of ids) {
      const number = this.numbers.get(id) ?? this.freeNumber(ids);
      this.numbers.delete(id);
      this.numbers.set(id, number);
    }
    this.store();
  }

  // A number that no run has; if all are taken, takes that of the run shown least recently.
  freeNumber(ids) {
    const taken = new Set(this.numbers.values());
    for (let number = 0; number < COLOUR_COUNT; number += 1) if (!taken.has(number)) return number;
    const oldest = [...this.numbers.keys()].find((id) => !ids.includes(id));
    if (oldest === undefined) return this.numbers.size % COLOUR_COUNT;
    const number = this.numbers.get(oldest);
    this.numbers.delete(oldest);
    return number;
  }

  of(id) {
    return this.numbers.has(id) ? `var(--series-${this.numbers.get(id)})` : "";
  }
}
