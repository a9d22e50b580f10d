"""Runs, workers, checkpoints and points as the gateway would report them: one trains live, one waits, one has failed."""

import bisect
import functools
import math
import random
import threading
import time

import fake_sweep

CHECKPOINT_EVERY = 250
COLUMNS = ("step", "at", "tokens", "loss", "validation_loss", "tokens_per_second", "mfu", "learning_rate", "gradient_norm",
           "step_seconds", "scores")


def as_json(value):
    """Numbers that JSON cannot express are strings in a point."""
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"


def finite_or_none(value):
    return value if value is not None and math.isfinite(value) else None


@functools.lru_cache(maxsize=None)
def noise_of(*key):
    return random.Random("/".join(map(str, key))).gauss(0, 1)


class FakeRun:
    """A training run whose numbers are a function of the step."""

    def __init__(self, name, seed, target, state="succeeded", step=None, began=None, step_seconds=0.5, reason="", **more):
        self.id = f"r-{seed:04x}{name[:2]}"
        self.name, self.seed, self.target, self.state, self.reason = name, seed, target, state, reason
        self.step_seconds = step_seconds
        self.began = began if began is not None else time.time() - 86400
        self.step = target if step is None else step
        self.failures = more.get("failures", [])   # steps at which it failed
        self.position = more.get("position")
        self.labels = more.get("labels", {})
        self.warning = more.get("warning", "")
        self.initial_model = more.get("initial_model")
        self.parent = more.get("parent")       # the FakeRun that this one was forked from
        self.note = more.get("note")
        self.keys = more.get("keys", {})       # of its resolved run file, by path
        self.unmeasured = more.get("unmeasured", ())  # columns without values
        self.scale = more.get("scale", 1.0)
        self.model = name        # model name: the id if another run has the name; None: not served
        self.checkpoint_every = more.get("checkpoint_every", CHECKPOINT_EVERY)
        self.evaluate_every = more.get("evaluate_every", 100)

    @property
    def terminal(self):
        return self.state in ("succeeded", "failed", "cancelled")

    def noise(self, step, salt):
        return noise_of(self.seed, step, salt)

    def loss(self, step):
        level = 2.3 + 8.4 * math.exp(-step / (0.035 * self.target)) + 1.1 * math.exp(-step / (0.5 * self.target))
        return round(max(0.5, level * self.scale + 0.07 * self.noise(step, "loss")), 4)

    def validation_loss(self, step):
        if step % self.evaluate_every or step == 0:
            return None
        return round((2.36 + 8.4 * math.exp(-step / (0.035 * self.target))
                     + 1.15 * math.exp(-step / (0.5 * self.target))) * self.scale + 0.01 * self.noise(step, "val"), 4)

    def scores(self, step):
        loss = self.validation_loss(step)
        return None if loss is None else {"val_bpb": round(loss / 2.77, 4), "quiz/completion/acc_norm": round(1 / loss, 4)}

    def resolved_keys(self):
        return {"apiVersion": "gp/v1", "name": self.name, "model.preset": "tiny", "budget.steps": str(self.target),
                **{f"labels.{key}": value for key, value in self.labels.items()}, **self.keys}

    def at(self, step):
        return self.began + step * self.step_seconds + 45 * bisect.bisect_right(self.failures, step)

    def point(self, step):
        speed = (9200 / self.scale) * (1 + 0.02 * self.noise(step, "speed"))
        if step % 500 < 3:
            speed *= 0.7
        warm = min(1.0, step / (0.05 * self.target))
        rate = 6e-4 * warm * (0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * step / self.target)))
        norm = 0.35 + 2.2 * math.exp(-step / (0.04 * self.target)) + abs(0.08 * self.noise(step, "norm"))
        return (step, round(self.at(step), 3), step * 8192, self.loss(step), self.validation_loss(step), round(speed, 1),
                round(speed / 9200 * 0.41 * self.scale, 4), rate, round(norm, 4), self.step_seconds, self.scores(step))

    def columns(self, steps):
        rows = [self.point(step) for step in steps]
        return {name: [None if name in self.unmeasured else as_json(row[i]) for row in rows] for i, name in enumerate(COLUMNS)}

    def points(self, limit, first, last):
        """At most `limit` of the steps `first` to `last`: both ends, and the lowest and the highest loss of each bucket."""
        first, last = max(1, first), min(self.step, last)
        steps = list(range(first, last + 1))
        total = len(steps)
        if total > limit:
            size = math.ceil(total / (limit / 2))
            kept = []
            for begin in range(0, total, size):
                bucket = steps[begin:begin + size]
                evaluated = {step for step in bucket if step % self.evaluate_every == 0}
                finite = [step for step in bucket if math.isfinite(self.loss(step))]
                gaps = [step for step in bucket if not math.isfinite(self.loss(step))]
                kept += sorted((evaluated if total / self.evaluate_every < limit else set()) | {*gaps[:1], *gaps[-1:]} |
                               ({min(finite, key=self.loss), max(finite, key=self.loss)} if finite else set()))
            steps = sorted({first, last, *kept})
        return {"run": self.id, "total": total, **self.columns(steps)}

    def checkpoint_steps(self):
        return list(range(self.checkpoint_every, self.step + 1, self.checkpoint_every)) if self.step else []

    def checkpoints(self):
        steps = self.checkpoint_steps()
        losses = {step: (2.36 + 8.4 * math.exp(-step / (0.035 * self.target))) * self.scale for step in steps}
        best = min(losses, key=losses.get) if steps else None
        return [{"step": step, "epoch": 1 + bisect.bisect_right(self.failures, step), "size_bytes": 1493172224 // 12,
                 "validation_loss": round(losses[step], 4), "sealed_at": self.at(step), "latest": step == steps[-1],
                 "best": step == best, "model": f"{self.model}@{step}" if self.model else None,
                 "quarantined": "digest of shard 1 differs" if step == 500 and self.failures else None} for step in steps]

    def best_step(self):
        return next((one["step"] for one in self.checkpoints() if one["best"]), None)

    def events(self):
        entries = [(self.began - 6, "submitted", "queued", "user", "")]
        if self.state == "queued":
            entries.append((self.began - 5, "queued", "queued", "scheduler", self.reason))
        else:
            entries += [(self.began - 5, "placed", "starting", "scheduler", "2 ranks on node alpha"),
                        (self.began - 1, "started", "running", "node alpha", "")]
            entries += [(one["sealed_at"], "checkpoint_sealed", "running", "node alpha",
                         f"step {one['step']}, {one['size_bytes'] >> 20} MiB") for one in self.checkpoints()]
            for step in self.failures:
                when = self.at(step) - 40
                entries += [(when, "rank_failed", "backoff", "node alpha",
                             "rank 1 was killed by signal 9; resumes from the newest checkpoint"),
                            (when + 30, "requeued", "queued", "scheduler", "after 30 s"),
                            (when + 38, "started", "running", "node alpha", "")]
            if self.terminal:
                entries.append((self.at(self.step) + 2, "ended", self.state, "scheduler", self.reason))
        return [{"sequence": i + 1, "at": at, "state": state, "kind": kind, "actor": actor, "reason": reason, "epoch": 1}
                for i, (at, kind, state, actor, reason) in enumerate(sorted(entries))][-500:]

    def samples(self):
        texts = ["eeh te nath  oor, an s\nwie thhe lo", "The wad of the sarn was an the lible, and he waster",
                 "The hacker looked at the machine and the machine was not",
                 "The hacker looked at the machine for a long time. “It works,” she said, <b>“but nobody knows why.”</b>"]
        steps = self.checkpoint_steps()
        return [{"step": step, "text": texts[min(3, i * 4 // max(1, len(steps)))]} for i, step in enumerate(steps)][-50:]

    def summary(self):
        point = self.point(self.step) if self.step else (0,) + (None,) * 9
        evaluated = self.step - self.step % self.evaluate_every
        steps = self.checkpoint_steps()
        return {"id": self.id, "name": self.name, "state": self.state, "reason": self.reason, "terminal": self.terminal,
                "submitted_at": self.began - 6, "started_at": self.began if self.step else None,
                "finished_at": self.at(self.step) if self.terminal else None, "step": self.step,
                "target_steps": self.target, "tokens": self.step * 8192, "loss": finite_or_none(point[3]),
                "validation_loss": self.validation_loss(evaluated) if evaluated else None, "tokens_per_second": point[5],
                "scores": self.scores(evaluated) or {},
                "mfu": point[6], "step_seconds": self.step_seconds if self.step else None,
                "seconds_left": None if self.terminal or not self.step else (self.target - self.step) * self.step_seconds, "learning_rate": point[7],
                "gradient_norm": point[8], "workers": 2,
                "placement": [{"rank": rank, "node": "alpha", "slot": f"cpu{rank}"} for rank in range(2)]
                if self.state == "running" else [],
                "latest_checkpoint": steps[-1] if steps else None, "best_checkpoint": self.best_step(),
                "failures": len(self.failures), "epoch": 1 + len(self.failures),
                "warning": self.warning, "queue_position": self.position, "submitted_by": "owner",
                "initial_model": self.initial_model, "labels": self.labels,
                "note": self.note, "parent": self.parent and {"run_id": self.parent.id, "leg": 1, "step": self.parent.step}}

    def details(self):
        resolved = f"apiVersion: gp/v1\nname: {self.name}\nmodel:\n  preset: tiny\nbudget:\n  steps: {self.target}\n"
        return {"run": {**self.summary(), "namespace": "default", "resolved": resolved, "model": self.model if self.checkpoint_steps() else None},
                "checkpoints": self.checkpoints(), "events": self.events(), "samples": self.samples()}


class FakeCluster:
    """All runs and workers; `advance` lets the live run make steps. Safe to use from several threads."""

    def __init__(self, empty=False, clock=time.time):
        now = clock()
        self.clock, self.lock = clock, threading.Lock()
        self.connected, self.message = True, None
        self.sweeps = []
        self.live = FakeRun("demo", 1, 6000, "running", 2600, now - 2600 * 0.25, 0.25)
        self.began, self.base = now, self.live.step
        self.runs = [] if empty else [
            self.live,
            FakeRun("gpt2-124m", 2, 19073, "queued", 0, now - 90, 1.2, position=1, scale=0.95,
                    reason="waits for 8 free slots with a GPU; 2 of 4 nodes are connected, 3 slots are free"),
            FakeRun("muon-test", 3, 4000, "failed", 2730, now - 7200, 0.5, failures=[900, 1800, 2400], scale=1.08,
                    reason="rank 1 failed 3 times in a row without a new checkpoint: killed by signal 9"),
            FakeRun("jargon-small", 4, 20000, "succeeded", None, now - 50000, 0.6, scale=1.0, checkpoint_every=2500,
                    labels={"team": "research"}),
            FakeRun("jargon-wide", 5, 20000, "succeeded", None, now - 30000, 0.8, scale=0.93, checkpoint_every=2500,
                    failures=[8000], initial_model="jargon-small@5000"),
            FakeRun("overfit", 6, 200, "cancelled", 120, now - 190000, 0.1, scale=0.8, reason="cancelled by user",
                    checkpoint_every=50),
        ]

    def advance(self):
        with self.lock:
            if self.live.state == "running":
                steps = int((self.clock() - self.began) / self.live.step_seconds)
                self.live.step = min(self.live.target, self.base + steps)

    def add_older_twin(self):
        """An older run with the name of the one that trains."""
        twin = FakeRun("demo", 9, 1000, "succeeded", None, self.clock() - 300000)
        twin.model = twin.id
        self.runs.append(twin)
        return twin

    def run_with(self, name):
        return next((run for run in self.runs if name in (run.id, run.name)), None)

    def add_sweep(self, count):
        """Runs that wait, newer than all others; one in three has the label sweep=third."""
        now = self.clock()
        self.runs[1:1] = [FakeRun(f"sweep-{number:04}", 0x1000 + number, 100, "queued", 0, now, position=number + 2,
                                  labels={"sweep": "third"} if number % 3 == 0 else {})
                          for number in range(count, 0, -1)]

    def add_trials(self, **more):
        """A sweep over three rates and two widths with two seeds each; one trial has failed, one waits."""
        runs, sweep = fake_sweep.rates(self.clock(), FakeRun, **more)
        self.runs += runs
        self.sweeps.append(sweep)
        return sweep

    def add_family(self):
        """A run with two forks, one of which was forked again; all have a label, keys that differ and two have a note."""
        now = self.clock()
        family = []
        for number, (name, parent, keys, scale, note) in enumerate([
                ("base", None, {"optimizer.lr": "6e-4", "seed": "1"}, 1.0, "the baseline of the paper"),
                ("hot", 0, {"optimizer.lr": "9e-4", "seed": "1"}, 0.97, None),
                ("warm", 0, {"optimizer.lr": "7e-4", "seed": "1", "optimizer.warmup": "200"}, 0.985, None),
                ("hot-again", 1, {"optimizer.lr": "9e-4", "seed": "2"}, 0.96, "seed 2, to see the noise")]):
            run = FakeRun(name, 0x2000 + number, 3000, "succeeded", None, now - 40000 + 3000 * number, 0.3 + 0.1 * number,
                          scale=scale, note=note, keys=keys, labels={"study": "rates"},
                          parent=None if parent is None else family[parent])
            family.append(run)
        self.runs += family
        return family

    def differences_body(self, runs):
        files = [run.resolved_keys() for run in runs]
        keys = list(dict.fromkeys(key for file in files for key in file))
        rows = [{"key": key, "values": [file.get(key) for file in files]} for key in keys]
        return {"runs": [{"id": run.id, "name": run.name} for run in runs],
                "keys": [row for row in rows if len(set(row["values"])) > 1]}

    def runs_body(self, limit=100, search="", state="", labels=(), page_token=""):
        self.advance()
        begin = int(page_token or 0)
        labels = dict(label.split("=", 1) for label in labels)
        found = [run for run in self.runs if search.lower() in run.name.lower() and state in ("", run.state)
                 and labels.items() <= run.labels.items()]
        counts = {}
        for run in self.runs:
            counts[run.state] = counts.get(run.state, 0) + 1
        return {"coordinator": {"connected": self.connected, "address": "127.0.0.1:50051", "message": self.message},
                "runs": [run.summary() for run in found[begin:begin + limit]],
                "total": None if search or labels else len(found), "counts": counts,
                "next_page_token": str(begin + limit) if len(found) > begin + limit else None}

    def workers_body(self):
        if not self.runs:
            return {"workers": []}
        live = {"run": "demo", "run_id": self.live.id, "use": {"cores": 1.9, "memory_bytes": 5 << 28}}
        def load(busy, cores, memory):
            return {"cores": cores, "busy_cores": busy, "memory_bytes": memory, "available_memory_bytes": memory // 2,
                    "storage_bytes": 500 << 30, "free_storage_bytes": 120 << 30}
        def slot(number, device, name, cores, memory, **more):
            return {"id": f"{device}{number}", "device": device, "device_name": name, "cores": cores,
                    "memory_bytes": memory, "run": None, "run_id": None, "problem": None, **more}
        return {"workers": [
            {"id": "w-1", "name": "alpha", "connected": True, "version": "1.4.0", "last_heard_at": self.clock() - 2,
             "gpu_driver": "", "problem": None, "load": load(3.8, 4, 16 << 30),
             "slots": [slot(0, "cpu", "AMD EPYC 7B13", 2, 8 << 30, **live), slot(1, "cpu", "AMD EPYC 7B13", 2, 8 << 30, **live)]},
            {"id": "w-2", "name": "beta", "connected": True, "version": "1.4.0", "last_heard_at": self.clock() - 4,
             "gpu_driver": "570.86", "problem": None,
             "slots": [slot(0, "gpu", "NVIDIA H100 80GB HBM3", 16, 80 << 30),
                       slot(1, "gpu", "NVIDIA H100 80GB HBM3", 16, 80 << 30, problem="ECC errors: 3 pages retired")]},
            {"id": "w-3", "name": "gamma", "connected": False, "version": "1.3.2", "last_heard_at": self.clock() - 4000,
             "gpu_driver": "", "problem": "not heard from since 1 h; its runs were placed elsewhere", "slots": []},
        ]}

    def model_with(self, name):
        """The model called `name`, which may also be RUN@latest, or have a run's id in place of its name."""
        root, at, rest = name.removesuffix("@latest").partition("@")
        run = next((run for run in self.runs if run.id == root), None)
        wanted = (run.model if run else root) + at + rest
        return next((one for one in self.models() if one["id"] == wanted), None)

    def models(self):
        """The list of /v1/models: alias, best, then steps with the newest first."""
        self.advance()
        entries = []
        for run in self.runs:
            checkpoints = run.checkpoints()
            if not checkpoints or not run.model:
                continue
            newest, best = checkpoints[-1], next(one for one in checkpoints if one["best"])
            named = [("alias", run.model, newest), ("best", f"{run.model}@best", best)]
            named += [("step", one["model"], one) for one in reversed(checkpoints)]
            entries += [{"id": name, "object": "model", "created": int(one["sealed_at"]), "owned_by": "gp", "root": run.model,
                         "step": one["step"], "validation_loss": one["validation_loss"], "max_model_len": 1024,
                         "parameters": 124439808, "tokenizer": "gpt2", "state": "ready" if kind == "alias" else "idle",
                         "kind": kind} for kind, name, one in named]
        return entries
