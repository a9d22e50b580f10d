"""Sinks without their tools: which points are written when, what is refused, and what the command says."""

import datetime
import io
import threading
import types
import unittest
import unittest.mock

import python_packages

python_packages.continue_there()

import gp  # noqa: E402
from gp.records import Leg, Point  # noqa: E402
from gp.sinks import command, export, packages  # noqa: E402

START = datetime.datetime(2026, 11, 28, tzinfo=datetime.timezone.utc)
RESOLVED = "name: base\noptimizer:\n  lr: 0.001\nbudget:\n  steps: 10\n"


def point(step, loss, epoch=1, **more):
    values = {
        "tokens": 32 * step,
        "lr": 1e-3,
        "grad_norm": 1.0,
        "tokens_per_second": 1e4 + epoch,
        "mfu": 0.0,
        "step_seconds": 0.1,
        "val_loss": None,
        "processor_wait": None,
        "skipped": False,
        "warning": "",
        "at": START + datetime.timedelta(seconds=step),
        "scores": {},
    }
    return Point(step=step, loss=loss, epoch=epoch, **values | more)


class FakeRun:
    """A run whose records the test changes."""

    def __init__(self):
        self.id, self.name, self.namespace, self.state, self.reason = "r1", "base", "default", "running", "it trains"
        self.submitted_by, self.note, self.parent, self.labels = "user ana", "", "", {}
        self.submitted_at, self.ended_at, self.epoch = START, None, 1
        self.points = {}
        self.resolved = [RESOLVED]

    @property
    def step(self):
        return max(self.points, default=0)

    @property
    def has_ended(self):
        return self.state in ("succeeded", "failed", "cancelled")

    def legs(self):
        return [Leg(number, -1, text, 10) for number, text in enumerate(self.resolved, 1)]

    def metrics(self, after_step=0):
        return iter([self.points[step] for step in sorted(self.points) if step > after_step])

    def train(self, *points, state="running"):
        """As the coordinator shows it: a later epoch replaces the steps from its first one on."""
        first = min(one.step for one in points)
        if points[0].epoch > self.epoch:
            self.points = {step: one for step, one in self.points.items() if step < first}
            self.epoch = points[0].epoch
        self.points |= {one.step: one for one in points}
        self.state = state


class FakeSink:
    def __init__(self):
        self.place = "fake"
        self.has = {}
        self.writes = []
        self.starts_over = 0
        self.closed_at = None
        self.error = None
        self.complete = False
        self.partial = set()

    def may_lack(self, step):
        return step in self.partial

    def is_complete(self, facts):
        return self.complete

    def begin(self, facts):
        return dict(self.has)

    def start_over(self, facts):
        self.starts_over += 1
        self.has = {}

    def write(self, facts, points):
        written = 0
        for written, one in enumerate(points, 1):
            if self.error:
                raise self.error
            assert one.step not in self.has or one.step in self.partial, f"step {one.step} is written twice"
            self.has[one.step] = one.loss
            self.writes.append(one.step)
        return written

    def close(self, facts):
        self.closed_at = facts.step


class Writing(unittest.TestCase):
    def setUp(self):
        self.run_, self.sink = FakeRun(), FakeSink()
        self.export = export.Export(self.run_, self.sink)

    def update(self):
        self.export.update()
        return self.sink.has

    def test_each_step_is_written_once(self):
        self.run_.train(point(1, 4.0), point(2, 3.9))
        self.assertEqual(self.update(), {1: 4.0, 2: 3.9})
        self.run_.train(point(3, 3.8))
        self.update()
        self.update()
        self.assertEqual(self.sink.writes, [1, 2, 3])
        self.assertEqual(self.export.written, 3)

    def test_a_later_sink_adds_what_is_missing(self):
        self.sink.has = {1: 4.0, 2: 3.9}
        self.run_.train(*(point(step, 4.1 - step / 10) for step in range(1, 6)))
        self.run_.points[1] = point(1, 4.0)
        self.run_.points[2] = point(2, 3.9)
        self.update()
        self.assertEqual(self.sink.writes, [3, 4, 5])

    def test_a_step_that_the_tool_has_in_part_is_completed(self):
        self.sink.has = {1: 4.0, 2: 3.9}
        self.sink.partial = {2}
        self.run_.train(point(1, 4.0), point(2, 3.9), point(3, 3.8))
        self.update()
        self.assertEqual(self.sink.writes, [2, 3])

    def test_steps_that_are_taken_again_with_the_same_losses_are_not_written_again(self):
        self.run_.train(*(point(step, 4 - step / 10) for step in range(1, 8)))
        self.update()
        self.run_.train(point(5, 3.5, epoch=2))
        self.update()
        self.run_.train(*(point(step, 4 - step / 10, epoch=2) for step in range(6, 10)))
        self.update()
        self.assertEqual(self.sink.writes, list(range(1, 10)))
        self.assertEqual(self.sink.starts_over, 0)

    def test_other_losses_of_written_steps_begin_the_run_anew(self):
        self.run_.train(*(point(step, 4 - step / 10) for step in range(1, 8)))
        self.update()
        self.run_.train(point(5, 9.9, epoch=2))
        self.assertEqual(self.update(), {1: 3.9, 2: 3.8, 3: 3.7, 4: 3.6, 5: 9.9})
        self.run_.train(point(6, 9.8, epoch=2))
        self.assertEqual(self.update()[6], 9.8)
        self.assertEqual(self.sink.starts_over, 1)

    def test_a_run_that_ends_before_its_earlier_leg_did_loses_the_rest(self):
        self.run_.train(*(point(step, 4 - step / 10) for step in range(1, 8)))
        self.update()
        self.run_.train(point(5, 3.5, epoch=2))
        self.update()
        self.assertIn(7, self.sink.has, "the run may still get there")
        self.run_.state = "cancelled"
        self.assertEqual(max(self.update()), 5)

    def test_a_loss_that_is_not_a_number_equals_itself(self):
        self.sink.has = {1: float("nan"), 2: float("inf")}
        self.run_.train(point(1, float("nan")), point(2, float("inf")), point(3, 1.0))
        self.update()
        self.assertEqual((self.sink.writes, self.sink.starts_over), ([3], 0))

    def test_an_error_of_the_tool_is_followed_by_asking_what_it_has(self):
        self.run_.train(point(1, 4.0), point(2, 3.9))
        self.update()
        self.run_.train(point(3, 3.8), point(4, 3.7))
        self.sink.error = OSError("away")
        with self.assertRaisesRegex(OSError, "away"):
            self.update()
        self.export.forget()
        self.sink.error = None
        self.sink.has[3] = 3.8  # the tool had taken it
        self.update()
        self.assertEqual(self.sink.writes, [1, 2, 4])

    def test_a_complete_tool_is_left_alone(self):
        self.sink.complete = True
        self.run_.train(point(1, 4.0), state="succeeded")
        self.update()
        self.export.close()
        self.assertEqual((self.sink.writes, self.sink.closed_at), ([], None))


class Facts(unittest.TestCase):
    def test_numbers_have_the_names_of_gpctl(self):
        whole = point(3, 4.0, mfu=0.5, val_loss=4.5, scores={"val_bpb": 1.5})
        self.assertEqual(
            set(export.values_of(whole)),
            {"tokens", "loss", "lr", "grad_norm", "tokens_per_second", "step_seconds", "mfu", "val_loss", "val_bpb"},
        )
        self.assertNotIn("mfu", export.values_of(point(3, 4.0)))

    def test_keys_that_a_leg_changes_are_told_apart(self):
        run = FakeRun()
        run.resolved = [RESOLVED, RESOLVED.replace("0.001", "0.002"), RESOLVED.replace("0.001", "0.002")]
        facts = export.facts_of(run)
        self.assertEqual(facts.hyperparameters["optimizer.lr"], "0.001")
        self.assertEqual(facts.changed_hyperparameters(), {2: {"optimizer.lr": "0.002"}, 3: {}})
        self.assertEqual(facts.newest_run_file["optimizer"], {"lr": "0.002"})


class Versions(unittest.TestCase):
    def test_untested_versions_are_refused_in_words(self):
        for package, version in (("wandb", "0.20.0"), ("wandb", "0.31.0"), ("mlflow", "2.22.0"), ("mlflow", "3.18.0rc1")):
            packages.check_version(package, version)
        for package, version in (("wandb", "1.0.0"), ("wandb", "0.19.11"), ("mlflow", "4.0"), ("mlflow", "2.21.3")):
            with self.assertRaisesRegex(
                gp.IncompatibleVersion, f"{package} {version} is installed; this works with .* or newer, below .*pip install"
            ):
                packages.check_version(package, version)

    def test_a_missing_package_is_said_with_what_installs_it(self):
        with unittest.mock.patch.dict("sys.modules", {"wandb": None}):
            with self.assertRaisesRegex(ImportError, r"package wandb is missing .* pip install './client/python\[wandb\]'"):
                packages.load("wandb")


class Command(unittest.TestCase):
    def setUp(self):
        self.out = self.enterContext(unittest.mock.patch("sys.stdout", io.StringIO()))
        self.err = self.enterContext(unittest.mock.patch("sys.stderr", io.StringIO()))
        self.enterContext(unittest.mock.patch.object(command, "_PAUSE_SECONDS", 0))
        self.run_, self.sink = FakeRun(), FakeSink()
        self.export = export.Export(self.run_, self.sink)

    def test_following_ends_with_the_run(self):
        updates = []

        def train():
            updates.append(1)
            self.run_.train(point(len(updates), 4.0), state="succeeded" if len(updates) == 3 else "running")
            return [Leg(1, -1, RESOLVED, 10)]

        self.run_.legs = train
        self.assertEqual(command._follow([self.export], threading.Event()), 0)
        self.assertEqual(self.sink.writes, [1, 2, 3])
        self.assertEqual(self.sink.closed_at, 3)
        self.assertEqual(self.out.getvalue(), "base (r1): 3 steps written to fake\n")

    def test_an_error_is_said_once_and_tried_again(self):
        errors = [OSError("away"), OSError("away"), None]
        self.run_.train(point(1, 4.0), state="succeeded")
        write = self.sink.write

        def failing(facts, points):
            self.sink.error = errors.pop(0)
            return write(facts, points)

        self.sink.write = failing
        self.assertEqual(command._follow([self.export], threading.Event()), 0)
        self.assertEqual(self.err.getvalue(), "warning: base: away; trying again until it works\n")
        self.assertEqual(self.sink.writes, [1])

    def test_a_stopped_follower_completes_what_it_has(self):
        self.run_.train(point(1, 4.0))
        stopped = threading.Event()
        stopped.set()
        self.assertEqual(command._follow([self.export], stopped), 0)
        self.assertEqual(self.sink.closed_at, 1)

    def test_a_deleted_run_ends_its_follower(self):
        self.run_.legs = unittest.mock.Mock(side_effect=gp.NotFound("run 'r1' does not exist"))
        self.assertEqual(command._follow([self.export], threading.Event()), 1)
        self.assertEqual(self.err.getvalue(), "error: base: run 'r1' does not exist\n")

    def test_an_error_of_the_tool_ends_a_single_round(self):
        self.run_.train(point(1, 4.0))
        self.sink.error = RuntimeError("it\nbroke\x1b[31m")
        self.assertEqual(command._write_once([self.export]), 1)
        self.assertEqual(self.err.getvalue(), "error: base: it broke\ufffd[31m\n")

    def test_errors_have_the_exit_codes_of_gpctl(self):
        with unittest.mock.patch.object(command.gp, "connect", side_effect=gp.Unreachable("nobody")):
            self.assertEqual(command.main(["wandb", "base"]), 6)
        client = unittest.mock.MagicMock()
        client.__enter__.return_value = types.SimpleNamespace(run=unittest.mock.Mock(side_effect=gp.NotFound("no run")))
        with unittest.mock.patch.object(command.gp, "connect", return_value=client):
            self.assertEqual(command.main(["mlflow", "base", "--to", "http://127.0.0.1:1"]), 3)
        self.assertEqual(self.err.getvalue(), "error: nobody\nerror: no run\n")


if __name__ == "__main__":
    unittest.main()
