"use strict";
// Colours of runs. A run keeps its colour when it is closed and opened again, and when the page is reloaded: the colours of
// the runs shown last are kept in localStorage. The colours differ for people with each kind of colour blindness; after
// them come the same colours with dotted lines.

const COLOUR_COUNT = 8;
const LINE_COUNT = 2 * COLOUR_COUNT;  // solid and dotted; as many runs can be shown together

class RunColours {
  constructor() {
    this.numbers = new Map();  // run id -> number of its line; the run shown most recently is last
  }

  read() {
    try {
      const entries = JSON.parse(localStorage.getItem("gp-run-colours")) ?? [];
      return new Map(entries.filter(([, number]) => number >= 0 && number < LINE_COUNT));
    } catch {
      return this.numbers;  // localStorage is not available
    }
  }

  store() {
    try {
      localStorage.setItem("gp-run-colours", JSON.stringify([...this.numbers].slice(-LINE_COUNT)));
    } catch {
      // localStorage is not available: the colours then last until the page is closed.
    }
  }

  // Gives each of these runs, which are shown together, a different line. `wanted`: the numbers in a link, for the picture
  // that its sender saw; a number that is missing, wrong or taken is replaced.
  show(ids, wanted = []) {
    this.numbers = this.read();  // another tab may have shown runs since
    const taken = new Set();
    ids.forEach((id, i) => {
      let number = [wanted[i], this.numbers.get(id)].find((one) => one >= 0 && one < LINE_COUNT && !taken.has(one));
      number ??= this.freeNumber(ids, taken);
      taken.add(number);
      this.numbers.delete(id);
      this.numbers.set(id, number);
    });
    this.store();
  }

  // The lowest number that no run has; if all are taken, that of the run shown least recently.
  freeNumber(ids, taken) {
    const all = Array.from({length: LINE_COUNT}, (_, number) => number);
    const used = new Set([...this.numbers.values(), ...taken]);
    const free = all.find((number) => !used.has(number));
    if (free !== undefined) return free;
    const oldest = [...this.numbers].find(([id, number]) => !ids.includes(id) && !taken.has(number));
    if (oldest === undefined) return all.find((number) => !taken.has(number)) ?? 0;
    this.numbers.delete(oldest[0]);
    return oldest[1];
  }

  numberOf(id) {
    return this.numbers.get(id) ?? null;
  }

  of(id) {
    return this.numbers.has(id) ? `var(--series-${this.numbers.get(id) % COLOUR_COUNT})` : "";
  }

  isDotted(id) {
    return this.numbers.get(id) >= COLOUR_COUNT;
  }
}
