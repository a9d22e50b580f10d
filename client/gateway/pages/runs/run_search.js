"use strict";
// Selects the runs in the list: the gateway's first hundred, which the event stream keeps up to date; or, with a filter,
// another order or after "more", those of GET /api/v1/runs, which the page requests every 3 s or less often.

const FIRST_COUNT = 100;
const PAGE_COUNT = 1000;     // the gateway's largest page
const SORTED_COUNT = 10000;  // the page sorts at most this many runs itself
const ASK_AGAIN_MS = 3000;

// Compares runs by a number, ascending for sign 1, descending for -1. Runs without the number come last.
const byNumber = (name, sign) => (one, other) => sign * (
  (isNumber(one[name]) ? one[name] : sign * Infinity) - (isNumber(other[name]) ? other[name] : sign * Infinity) || 0);

// The order "" is the gateway's: running, then waiting, then ended runs.
const ORDERS = {
  "": {title: "Running first"},
  newest: {title: "Newest first", compare: byNumber("submitted_at", -1)},
  oldest: {title: "Oldest first", compare: byNumber("submitted_at", 1)},
  name: {title: "By name", compare: (one, other) => one.name.localeCompare(other.name, "en", {numeric: true})},
  loss: {title: "Lowest loss", compare: byNumber("loss", 1)},
  validation_loss: {title: "Lowest val. loss", compare: byNumber("validation_loss", 1)},
  step: {title: "Most steps", compare: byNumber("step", -1)},
};

// Requests pages until `count` matching runs are listed, or all: {runs, total, counts, next_page_token}.
async function listRuns(filters, count) {
  const list = {runs: [], total: null, counts: null, next_page_token: null};
  do {
    const query = new URLSearchParams([...filters, ["limit", String(Math.min(PAGE_COUNT, count - list.runs.length))]]);
    if (list.next_page_token) query.set("page_token", list.next_page_token);
    const page = await askJson(`api/v1/runs?${query}`, {cache: "no-store"});
    list.runs.push(...page.runs);
    list.total ??= page.total;
    list.counts = page.counts;
    list.next_page_token = page.next_page_token;
  } while (list.next_page_token && list.runs.length < count);
  if (!list.next_page_token) list.total = list.runs.length;
  return list;
}

class RunSearch {
  // `onChange` is called when the list to show has changed.
  constructor(onChange) {
    this.onChange = onChange;
    this.count = FIRST_COUNT;
    this.label = "";
    this.pushed = {runs: [], total: null};
    this.answer = null;  // the list of GET /api/v1/runs; null: show the pushed list
    this.asked = 0;      // number of the newest request
    this.askAgainAt = 0;
    this.typing = 0;
  }

  start() {
    $("#run-search").addEventListener("input", () => {
      clearTimeout(this.typing);
      this.typing = setTimeout(() => this.change(), 250);
    });
    $("#run-state-filter").append(node("option", {value: ""}, "All states"),
      ...Object.keys(STATE_TONES).map((state) => node("option", {value: state}, state)));
    $("#run-order").append(...Object.entries(ORDERS).map(([value, {title}]) => node("option", {value}, title)));
    for (const choice of ["#run-state-filter", "#run-order"]) $(choice).addEventListener("change", () => this.change());
    $("#run-label-filter").addEventListener("click", () => this.chooseLabel(""));
    $("#more-runs").addEventListener("click", () => {
      this.count *= 2;
      this.ask();
    });
  }

  // Words such as team=research filter by label; the other words match a part of the name or the beginning of an id.
  get filters() {
    const words = $("#run-search").value.trim().split(/\s+/);
    const isLabel = (word) => word.indexOf("=") > 0;
    const labels = [this.label, ...words.filter(isLabel)];
    const search = words.filter((word) => !isLabel(word)).join(" ");
    return [["search", search], ["state", $("#run-state-filter").value], ...labels.map((label) => ["label", label])]
      .filter(([, value]) => value);
  }

  get order() { return $("#run-order").value; }
  get list() { return this.answer ?? this.pushed; }
  get runs() { return this.list.runs.slice(0, this.count); }
  get isPushed() { return this.count === FIRST_COUNT && this.filters.length === 0 && !this.order; }

  chooseLabel(label) {
    this.label = label;
    this.change();
  }

  // The filters and the order, for a link.
  get linkValues() {
    const values = {search: $("#run-search").value.trim(), state: $("#run-state-filter").value, label: this.label, order: this.order};
    return Object.entries(values).filter(([, value]) => value);
  }

  restore(values) {
    const known = (name, choices) => Object.hasOwn(choices, values.get(name) ?? "") ? values.get(name) ?? "" : "";
    $("#run-search").value = values.get("search") ?? "";
    $("#run-state-filter").value = known("state", STATE_TONES);
    $("#run-order").value = known("order", ORDERS);
    this.label = values.get("label") ?? "";
    if (this.linkValues.length > 0) this.change();
  }

  // Called when a filter or the order has changed: shows the new list from its beginning.
  change() {
    this.count = FIRST_COUNT;
    $("#run-label-filter").hidden = !this.label;
    setText($("#run-label-filter"), `${this.label} ×`);
    $("#run-label-filter").setAttribute("aria-label", `Show runs without the label ${this.label} too`);
    this.ask();
  }

  // Sets the list of the event stream. Requests the other list again if it is shown and old enough.
  take(body) {
    this.pushed = body;
    if (!this.isPushed && performance.now() > this.askAgainAt) this.ask();
  }

  async ask() {
    const question = ++this.asked;
    this.askAgainAt = Infinity;
    if (this.isPushed) {
      this.answer = null;
      return this.onChange();
    }
    const began = performance.now();
    const {compare} = ORDERS[this.order];
    try {
      const answer = await listRuns(this.filters, compare ? SORTED_COUNT : this.count);
      if (question !== this.asked) return;
      if (compare) answer.runs.sort(compare);
      this.answer = answer;
      this.onChange();
    } catch (error) {
      if (question === this.asked) toast(error.message);
    }
    // Wait longer after a slow request, so that large lists take at most a tenth of the time.
    const now = performance.now();
    if (question === this.asked) this.askAgainAt = now + Math.max(ASK_AGAIN_MS, 10 * (now - began));
  }

  // Shows "Showing 100 of 1,234" and, if there are more runs, the button for them.
  showFoot() {
    const shown = this.runs.length;
    const {total} = this.list;
    const more = isNumber(total) ? total > shown : Boolean(this.list.next_page_token);
    const words = isNumber(total) ? `Showing ${grouped(shown)} of ${grouped(total)}` : `Showing ${grouped(shown)}; there are more`;
    const isPartial = this.order && this.list.next_page_token;
    $("#runs-foot").hidden = !more;
    setText($("#runs-shown"), isPartial ? `${words}, in the order of the first ${grouped(SORTED_COUNT)}` : words);
  }
}
