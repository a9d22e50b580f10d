"use strict";
// Which runs the list shows: the gateway's first hundred, which the event stream keeps up to date, or more of them and
// those that match what is typed and chosen, which this page asks for again while it is open.

const FIRST_COUNT = 100;
const LARGEST_COUNT = 1000;
const ASK_AGAIN_MS = 3000;

class RunSearch {
  // `onChange` is called when there is another list to show.
  constructor(onChange) {
    this.onChange = onChange;
    this.count = FIRST_COUNT;
    this.label = "";
    this.pushed = {runs: [], total: null};
    this.answer = null;  // null: the list that is pushed
    this.asked = 0;      // number of the newest question
    this.askedAt = 0;
    this.typing = 0;
  }

  start() {
    $("#run-search").addEventListener("input", () => {
      clearTimeout(this.typing);
      this.typing = setTimeout(() => this.change(), 250);
    });
    $("#run-state-filter").append(node("option", {value: ""}, "All states"),
      ...Object.keys(STATE_TONES).map((state) => node("option", {value: state}, state)));
    $("#run-state-filter").addEventListener("change", () => this.change());
    $("#run-label-filter").addEventListener("click", () => this.chooseLabel(""));
    $("#more-runs").addEventListener("click", () => {
      this.count = Math.min(LARGEST_COUNT, this.count + FIRST_COUNT);
      this.ask();
    });
  }

  get filters() {
    const filters = {search: $("#run-search").value.trim(), state: $("#run-state-filter").value, label: this.label};
    return Object.entries(filters).filter(([, value]) => value);
  }

  get list() { return this.answer ?? this.pushed; }
  get runs() { return this.list.runs; }
  get isPushed() { return this.count === FIRST_COUNT && this.filters.length === 0; }

  chooseLabel(label) {
    this.label = label;
    this.change();
  }

  // Another filter: from its beginning.
  change() {
    this.count = FIRST_COUNT;
    $("#run-label-filter").hidden = !this.label;
    setText($("#run-label-filter"), `${this.label} ×`);
    $("#run-label-filter").setAttribute("aria-label", `Show runs without the label ${this.label} too`);
    this.ask();
  }

  // What the event stream tells.
  take(body) {
    this.pushed = body;
    if (!this.isPushed && performance.now() - this.askedAt > ASK_AGAIN_MS) this.ask();
  }

  async ask() {
    const question = ++this.asked;
    this.askedAt = performance.now();
    if (this.isPushed) {
      this.answer = null;
      return this.onChange();
    }
    const query = new URLSearchParams([...this.filters, ["limit", String(this.count)]]);
    try {
      const answer = await askJson(`api/v1/runs?${query}`, {cache: "no-store"});
      if (question !== this.asked) return;
      this.answer = answer;
      this.onChange();
    } catch (error) {
      if (question === this.asked) toast(error.message);
    }
  }

  // "Showing 100 of 1,234", and whether there is more to show.
  showFoot() {
    const shown = this.runs.length;
    const total = this.list.total;
    const more = isNumber(total) ? total > shown : Boolean(this.list.next_page_token);
    const words = isNumber(total) ? `Showing ${grouped(shown)} of ${grouped(total)}` : `Showing ${grouped(shown)}; there are more`;
    $("#runs-foot").hidden = !more;
    setText($("#runs-shown"), shown >= LARGEST_COUNT ? `${words}. A search finds the others.` : words);
    $("#more-runs").hidden = shown >= LARGEST_COUNT;
  }
}
