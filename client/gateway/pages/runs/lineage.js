"use strict";
// The lineage of a run: the runs that it was forked from, and all runs that were forked from these.

// The run among `runs` that this one was forked from; undefined if there is none. A run file's init_from names a run; of
// several runs with that name it means the newest that was there before.
function parentOf(run, runs) {
  if (run.parent) return runs.find(({id}) => id === run.parent.run_id);
  const [name, step] = (run.initial_model ?? "").split("@");
  if (!name || step === undefined) return undefined;
  const before = runs.filter((one) => one.id !== run.id && isNamed(one, name) && one.submitted_at <= run.submitted_at);
  return before.reduce((newest, one) => newest && newest.submitted_at >= one.submitted_at ? newest : one, undefined);
}

// Whether the run was forked from another, or another that the page has was forked from it.
const isForked = (run) => [run, ...view.runs].some((one) => {
  const parent = parentOf(one, [...view.runs, run]);
  return one.id === run.id ? Boolean(one.parent) || Boolean(parent) : parent?.id === run.id;
});

// The runs of the lineage, the oldest first, the run itself included.
function lineageOf(run, runs) {
  const parents = new Map(runs.map((one) => [one.id, parentOf(one, runs)?.id]));
  const rootOf = (id) => {
    const seen = new Set();
    while (parents.get(id) !== undefined && !seen.has(id)) {
      seen.add(id);
      id = parents.get(id);
    }
    return id;
  };
  const root = rootOf(run.id);
  return runs.filter(({id}) => id === run.id || rootOf(id) === root).sort(byNumber("submitted_at", 1));
}
