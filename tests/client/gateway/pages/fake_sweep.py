"""A sweep as the gateway would report it, with the runs of its trials."""

import statistics

RATES = ("1e-4", "1e-3", "1e-2")
KINDS = ("cosine", "linear")
SEEDS = ("1", "2")


def loss_of(rate, kind, seed):
    return round({"1e-4": 3.1, "1e-3": 2.6, "1e-2": 2.9}[rate] + (0.02 if kind == "linear" else 0) + 0.03 * int(seed), 4)


def rates(now, make_run, name="rates", ended=False):
    """(runs, sweep). Unless it has ended, its last trial waits and the one before it trains."""
    combinations = [(rate, kind, seed) for rate in RATES for kind in KINDS for seed in SEEDS]
    runs, trials = [], []
    for number, (rate, kind, seed) in enumerate(combinations, 1):
        keys = {"optimizer.lr": rate, "schedule.kind": kind, "seed": seed}
        waits, trains = not ended and number == 12, not ended and number == 11
        state = "failed" if number == 6 else "running" if trains else "done"
        run = None if waits else make_run(
            f"{name}-{number}", 0x3000 + number, 1000, {"done": "succeeded"}.get(state, state), 400 if state != "done" else None,
            now - 20000 + 600 * number, 0.5, scale=loss_of(rate, kind, seed) / 2.6,
            labels={"sweep": name, "trial": str(number), **keys}, reason="a gradient was not finite" if state == "failed" else "")
        runs += [run] if run else []
        trials.append({
            "number": number, "keys": keys, "state": "waiting" if waits else state, "run": run and run.id,
            "run_name": f"{name}-{number}", "reason": "", "diverged": False, "full_steps": 1000,
            "validation_loss": None if waits or state == "failed" else loss_of(rate, kind, seed),
            "step": 0 if waits else 1000 if state == "done" else 400})
    sweep = {"name": name, "namespace": "default", "state": "succeeded" if ended else "running", "ended": ended,
             "reason": "11 of 12 trials have a validation loss, 1 failed" if ended else "its trials run",
             "submitted_by": "owner", "submitted_at": now - 20000, "ended_at": now if ended else None, "max_parallel": 2,
             "early_stop": "none", "trial_count": 12, "ended_trials": 12 if ended else 10,
             "candidates": candidates_of(trials), "trials": trials}
    sweep["best"] = min((one for one in trials if one["state"] == "done"), key=lambda one: one["validation_loss"])["number"]
    return runs, sweep


def candidates_of(trials):
    """Trials that differ only in the seed, by rank."""
    groups = {}
    for trial in trials:
        keys = {key: value for key, value in trial["keys"].items() if key != "seed"}
        groups.setdefault(tuple(keys.items()), []).append(trial)
    found = []
    for keys, group in groups.items():
        steps = max((one["step"] for one in group if one["validation_loss"] is not None), default=0)
        losses = [one["validation_loss"] for one in group if one["validation_loss"] is not None and one["step"] == steps]
        found.append({"keys": dict(keys), "trials": [one["number"] for one in group],
                      "mean": statistics.fmean(losses) if losses else None,
                      "deviation": statistics.stdev(losses) if len(losses) > 1 else None, "steps": steps})
    found.sort(key=lambda one: (one["mean"] is None, -one["steps"], one["mean"] or 0))
    first = found[0]
    for one in found:
        comparable = one["mean"] is not None and one["steps"] == first["steps"]
        difference = one["mean"] - first["mean"] if comparable else None
        one.update(comparable=comparable, difference=difference, is_noise=comparable and difference < 0.03)
    return found


def listed(sweep):
    return {key: value for key, value in sweep.items() if key not in ("best", "candidates", "trials")}
