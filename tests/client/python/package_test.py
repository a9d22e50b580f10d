"""The Python client without a service: how it finds one, what it sends, what it refuses, and that its files are in order."""

import concurrent.futures
import contextlib
import io
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock

import python_packages

python_packages.continue_there()

import gp  # noqa: E402
import grpc  # noqa: E402
from gp import chart, errors, forking, gateway, plain_yaml, progress, run_file, services, sweep  # noqa: E402
from gp.v1 import run_pb2, run_service_pb2, sweep_service_pb2  # noqa: E402

TOKEN = "gp_user_0123456789_" + 64 * "a"
DIGEST = 64 * "b"


class Finding(unittest.TestCase):
    """Services are found by the rules of client/gpctl/session/session.h."""

    def setUp(self):
        self.root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("GPCTL_", "XDG_"))}
        self.enterContext(unittest.mock.patch.dict(os.environ, {**kept, "HOME": str(self.root)}, clear=True))
        (self.root / ".config" / "gpctl").mkdir(parents=True)
        self.contexts = self.root / ".config" / "gpctl" / "config.yaml"
        self.contexts.write_text(
            "# Written by gpctl.\napiVersion: gp/v1\ncurrent: local\ncontexts:\n"
            '  "a: b":\n    server: "unix:/x y/gp.sock"\n'
            "  lab:\n    server: gp.example.org:7070\n    ca_file: /lab/ca.pem\n    namespace: research\n"
            "  local:\n    server: unix:/home/ana/gp.sock\n    state_dir: /home/ana/gp\n"
        )

    def token_file(self, mode=0o600):
        path = self.root / "token"
        path.write_text(TOKEN + "\n")
        path.chmod(mode)
        return path

    def test_the_current_context_is_taken_unless_something_else_is_named(self):
        self.assertEqual(services.find_service().server, "unix:/home/ana/gp.sock")
        self.assertEqual(services.find_service().state_dir, "/home/ana/gp")
        lab = services.find_service(context="lab")
        self.assertEqual((lab.server, lab.ca_file, lab.namespace), ("gp.example.org:7070", "/lab/ca.pem", "research"))
        self.assertTrue(lab.has_tls)
        self.assertEqual(services.find_service(context="a: b").server, "unix:/x y/gp.sock")
        with unittest.mock.patch.dict(os.environ, {"GPCTL_CONTEXT": "lab"}):
            self.assertEqual(services.find_service().server, "gp.example.org:7070")
            self.assertEqual(services.find_service(context="local").server, "unix:/home/ana/gp.sock")
        with unittest.mock.patch.dict(os.environ, {"GPCTL_CONTEXT": "lab", "GPCTL_SERVER": "127.0.0.1:7"}):
            self.assertEqual(services.find_service().server, "127.0.0.1:7")
            self.assertEqual(services.find_service("127.0.0.1:8").server, "127.0.0.1:8")

    def test_a_state_directory_has_a_context_of_its_own(self):
        (self.root / "context").write_text("# Written by gpctl.\nserver: unix:/s\nstate_dir: /moved\napiVersion: gp/v1\n")
        found = services.find_service(state_dir=self.root)
        self.assertEqual((found.server, found.state_dir), ("unix:/s", str(self.root)))
        with self.assertRaisesRegex(gp.NotFound, "no service was started in /nowhere; 'gpctl up' starts one"):
            services.find_service(state_dir="/nowhere")

    def test_what_cannot_be_found_is_said_with_the_way_out(self):
        with self.assertRaisesRegex(gp.NotFound, "config.yaml has no context 'nix'; it has: a: b, lab, local"):
            services.find_service(context="nix")
        with self.assertRaisesRegex(gp.InvalidRequest, "'host' is not the address of a coordinator; expected HOST:PORT"):
            services.find_service("host")
        self.contexts.write_text("current: [local]\ncontexts: &a {}\n")
        with self.assertRaisesRegex(gp.InvalidRequest, "config.yaml: line 2: .* expected the YAML that gpctl writes"):
            services.find_service()
        self.contexts.write_text("apiVersion: gp/v2\ncurrent: local\n")
        with self.assertRaisesRegex(gp.InvalidRequest, "has apiVersion gp/v2; this package reads gp/v1"):
            services.find_service()
        self.contexts.unlink()
        with self.assertRaisesRegex(gp.Unreachable, "no coordinator is chosen; start one .* 'gpctl up', or log in"):
            services.find_service()

    def test_the_token_comes_from_the_variable_the_file_or_the_context(self):
        path = self.token_file()
        self.assertEqual(services.find_service("unix:/s", token_file=path).token, TOKEN)
        with unittest.mock.patch.dict(os.environ, {"GPCTL_TOKEN_FILE": str(path)}):
            self.assertEqual(services.find_service().token, TOKEN)
        with unittest.mock.patch.dict(os.environ, {"GPCTL_TOKEN": f"{TOKEN}_{DIGEST}", "GPCTL_TOKEN_FILE": str(path)}):
            self.assertEqual(services.find_service().token, f"{TOKEN}_{DIGEST}")
        self.assertNotIn(TOKEN, repr(services.find_service("unix:/s", token_file=path)))

    def test_a_token_is_not_sent_or_read_where_others_can_see_it(self):
        path = self.token_file()
        with self.assertRaisesRegex(gp.InvalidRequest, "the token is not sent to 10.0.0.1:7070, .* no TLS"):
            services.find_service("10.0.0.1:7070", token_file=path)
        self.assertEqual(services.find_service("10.0.0.1:7070", token_file=path, ca_file="/ca.pem").token, TOKEN)
        with self.assertRaisesRegex(gp.InvalidRequest, "token has mode 640, so other users can read the secret"):
            services.find_service("unix:/s", token_file=self.token_file(0o640))
        path.chmod(0o600)
        path.write_text("secret words")
        with self.assertRaises(gp.InvalidRequest) as raised:
            services.find_service("unix:/s", token_file=path)
        self.assertNotIn("secret words", str(raised.exception))

    def test_the_gateway_of_a_local_service_is_used_while_it_runs(self):
        start_time = pathlib.Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
        record = {"gateway": {"pid": os.getpid(), "start_time": int(start_time)}, "gateway_address": "0.0.0.0:8080"}
        (self.root / "service.json").write_text(json.dumps(record))
        service = services.Service("unix:/s", state_dir=str(self.root))
        self.assertEqual(services.gateway_address(service), "127.0.0.1:8080")
        record["gateway"]["start_time"] += 1
        (self.root / "service.json").write_text(json.dumps(record))
        self.assertIsNone(services.gateway_address(service))
        self.assertIn("is stopped; 'gpctl up' starts it", services.stopped_service(service))


class Yaml(unittest.TestCase):
    def test_what_gp_writes_is_read(self):
        text = 'a: 1\nb:\n  c: "x\\n\\"y\\" # no comment"\n  d: [a, "b: c"]\n  e:\n    f: 1e-08\ng: {}\nh: \'it\'\'s\'\ni:\n'
        self.assertEqual(
            plain_yaml.parse(text),
            {
                "a": "1",
                "b": {"c": 'x\n"y" # no comment', "d": '[a, "b: c"]', "e": {"f": "1e-08"}},
                "g": "{}",
                "h": "it's",
                "i": "",
            },
        )
        self.assertEqual(plain_yaml.flattened(plain_yaml.parse(text))["b.e.f"], "1e-08")

    def test_values_have_types(self):
        texts = {"1": 1, "-2": -2, "1e-08": 1e-8, "0.5": 0.5, ".5": 0.5, "true": True, "1h": "1h", "": "", "nan": "nan", "[1]": "[1]"}
        for text, value in texts.items():
            self.assertEqual(repr(plain_yaml.typed(text)), repr(value))

    def test_anything_else_is_refused_with_its_line(self):
        for text, line in (
            ("a: 1\n- b\n", 2),
            ("a: |\n  x\n", 1),
            ("a: 1\n  b: 2\n", 2),
            ("a: 1\na: 2\n", 2),
            ('a: "x\n', 1),
            ("a:\n    b: 1\n  c: 2\n", 3),
            ("{a: 1}\n", 1),
            ("a: *b\n", 1),
        ):
            with self.assertRaisesRegex(plain_yaml.NotPlain, f"line {line}:", msg=text):
                plain_yaml.parse(text)


class RunFiles(unittest.TestCase):
    def test_a_dict_becomes_the_text_of_a_run_file(self):
        file = run_file.read_run_file(
            {
                "name": "ü",
                "optimizer": {"lr": 1e-8},
                "data": {"text": [pathlib.Path("a.txt"), "b c"], "split_on": "a: #\n"},
                "train": (),
                "labels": {},
                "learning_rates": {"last 2 blocks": 1e-4},
                "deterministic": True,
            }
        )
        self.assertEqual(
            file.text,
            'name: "ü"\noptimizer:\n  lr: 1e-08\ndata:\n'
            f'  text: [{os.path.abspath("a.txt")}, "b c"]\n  split_on: "a: #\\n"\ntrain: []\nlabels: {{}}\n'
            'learning_rates:\n  "last 2 blocks": 0.0001\ndeterministic: true\n',
        )
        self.assertEqual(file.directory, os.getcwd())

    def test_durations_and_counts_stay_plain_and_null_does_not(self):
        file = run_file.read_run_file(
            {"budget": {"wall_time": "1h30m", "tokens": "2^19"}, "name": "null", "note": "", "x": "-"}
        )
        self.assertEqual(file.text, 'budget:\n  wall_time: 1h30m\n  tokens: 2^19\nname: "null"\nnote: ""\nx: "-"\n')

    def test_overrides_are_written_as_on_the_command_line(self):
        overrides = {"a.b": 1e-3, "c": True, "d": "2^19", "e": ["x", "y z"], "f": pathlib.Path("g"), "h": {"wte": 1e-5}}
        self.assertEqual(
            run_file.override_texts(overrides),
            ["a.b=0.001", "c=true", "d=2^19", 'e=[x, "y z"]', f"f={os.path.abspath('g')}", "h={wte: 1e-05}"],
        )

    def test_values_that_no_run_file_can_have_are_refused(self):
        for value in (None, math.nan, math.inf, b"bytes", object(), {1: 2}):
            with self.assertRaisesRegex(gp.InvalidRequest, r"optimizer\.lr"):
                run_file.read_run_file({"optimizer": {"lr": value}})
        with self.assertRaisesRegex(gp.InvalidRequest, "nowhere.yaml: No such file .* 'gpctl init' writes one"):
            run_file.read_run_file("nowhere.yaml")

    def test_a_run_that_begins_with_a_model_is_refused_with_the_way_out(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "run.yaml")
            for text in ("init_from: base@10\n", "name: x\n'init_from' : \"base@10\"  # a comment\n"):
                path.write_text(text)
                with self.assertRaisesRegex(gp.InvalidRequest, r"init_from: base@10: .* run\.fork\(\)"):
                    run_file.refuse_initial_model(run_file.read_run_file(path), None)
                run_file.refuse_initial_model(run_file.read_run_file(path), {"init_from": "scratch"})
            path.write_text("# init_from: base@10\ninit_from: scratch\n")
            run_file.refuse_initial_model(run_file.read_run_file(path), None)
        with self.assertRaises(gp.InvalidRequest):
            run_file.refuse_initial_model(run_file.read_run_file({"init_from": "base"}), None)


class Problems(unittest.TestCase):
    def test_each_problem_has_its_place_and_its_hint(self):
        text = (
            "error: a b.yaml:3:5: unknown key 'x': y\n     3 |     x: 1 | 2\n       |     ^ did you mean 'z'?\n"
            "error: --set optimizer.lr: must be a number\nerror: run.yaml: there is nothing to train on\n       | name text\n"
        )
        error = errors.from_status(grpc.StatusCode.INVALID_ARGUMENT, text)
        self.assertIsInstance(error, gp.InvalidRunFile)
        self.assertEqual(
            error.problems,
            (
                gp.Problem("a b.yaml", 3, 5, "unknown key 'x': y", "    x: 1 | 2", "did you mean 'z'?"),
                gp.Problem("--set optimizer.lr", None, None, "must be a number"),
                gp.Problem("run.yaml", None, None, "there is nothing to train on", "", "name text"),
            ),
        )

    def test_other_errors_are_told_apart_by_their_class(self):
        for code, kind in (
            ("INVALID_ARGUMENT", gp.InvalidRequest),
            ("NOT_FOUND", gp.NotFound),
            ("UNAUTHENTICATED", gp.NotAllowed),
            ("ALREADY_EXISTS", gp.Conflict),
            ("RESOURCE_EXHAUSTED", gp.LimitReached),
            ("INTERNAL", gp.Error),
        ):
            error = errors.from_status(grpc.StatusCode[code], "what and why")
            self.assertIs(type(error), kind)
            self.assertEqual(str(error), "what and why")


class Forks(unittest.TestCase):
    LEG = run_pb2.Leg(
        number=1,
        target_steps=30,
        resolved=(
            "seed: 1\nmodel:\n  n_layer: 1\ndata:\n  order: random\n  tokenizer: bytes\noptimizer:\n  kind: adamw\n"
            "  lr: 0.001\nresources:\n  min_workers: 1\n  max_workers: 1\nschedule:\n  decay_steps: 0\n  decay_tokens: 0\n"
        ),
    )
    CHECKPOINT = run_pb2.Checkpoint(step=15, directory="/runs/x/checkpoints/15", leg=1)

    def overrides(self, overrides=None, steps=None, tokens=None, reset_optimizer=False, reset_data=False, step=15):
        checkpoint = run_pb2.Checkpoint()
        checkpoint.CopyFrom(self.CHECKPOINT)
        checkpoint.step = step
        return forking.fork_overrides(
            self.LEG, checkpoint, forking.ForkRequest(overrides or {}, steps, tokens, reset_optimizer, reset_data)
        )

    def test_a_fork_keeps_optimizer_data_and_tokenizer(self):
        self.assertEqual(
            self.overrides({"optimizer.lr": 1e-3}),
            [
                "init_from=/runs/x/checkpoints/15",
                "init_optimizer=keep",
                "init_data=keep",
                "data.tokenizer=bytes",
                "optimizer.lr=0.001",
            ],
        )

    def test_another_budget_keeps_the_end_of_the_schedule(self):
        self.assertIn("schedule.decay_steps=30", self.overrides(steps="+50"))
        self.assertIn("budget.steps=65", self.overrides(steps="+50"))
        self.assertNotIn("schedule.decay_steps=30", self.overrides({"schedule.decay_steps": 65}, steps=65))
        self.assertIn("budget.tokens=5000", self.overrides(tokens=5000))

    def test_other_data_begins_anew(self):
        for fork in (self.overrides({"seed": 2}), self.overrides({"data.order": "shuffled"}), self.overrides(reset_data=True)):
            self.assertIn("init_data=reset", fork)
        self.assertIn("init_data=keep", self.overrides({"seed": 1}))
        self.assertIn("budget.steps=50", self.overrides({"seed": 2}, steps="+50"))

    def test_limits_follow_the_number_of_ranks(self):
        self.assertIn("resources.max_workers=0", self.overrides({"resources.workers": 2}))

    def test_what_cannot_change_is_refused(self):
        for changed, way_out in (
            ({"model.n_layer": 2}, "from scratch"),
            ({"data.tokenizer": "chars"}, "tokenizer of its checkpoint"),
            ({"optimizer.kind": "muon"}, "reset_optimizer=True"),
            ({"init_from": "x"}, r"run\.fork\(\) sets it"),
        ):
            with self.assertRaisesRegex(gp.InvalidRequest, way_out):
                self.overrides(changed)
        self.assertIn("optimizer.kind=muon", self.overrides({"optimizer.kind": "muon"}, reset_optimizer=True))
        with self.assertRaisesRegex(gp.InvalidRequest, r"nothing is left to train; give the fork more: steps='\+30'"):
            self.overrides(step=30)
        with self.assertRaisesRegex(gp.InvalidRequest, "is at step 15 already"):
            self.overrides(steps=15)


class Charts(unittest.TestCase):
    def test_values_that_are_not_finite_are_gaps(self):
        drawn = chart.draw([chart.Curve("loss <x>", [1, 2, 3, 4, 5], [3.0, 2.0, math.nan, 1.0, 0.5])])
        path = drawn.split('<path d="')[2].split('"')[0]
        self.assertEqual((path.count("M"), path.count("L")), (2, 2))
        self.assertIn("loss &lt;x&gt;", drawn)
        self.assertEqual(chart.draw([chart.Curve("loss", [1], [math.inf])]), "")
        self.assertEqual(chart.draw([]), "")


class Showing(unittest.TestCase):
    """How far a run is."""

    @staticmethod
    def run_at(step, state="running", loss=None):
        return types.SimpleNamespace(name="tiny", state=state, step=step, target_steps=100, loss=loss, val_loss=None)

    def test_without_tqdm_lines_are_printed_at_changes_and_tenths(self):
        with unittest.mock.patch.dict(sys.modules, {"tqdm": None, "tqdm.auto": None}):
            shows = progress.make(True)
        with contextlib.redirect_stderr(io.StringIO()) as printed:
            for run in (
                self.run_at(0, "queued"),
                self.run_at(0),
                self.run_at(5, loss=3.0),
                self.run_at(11, loss=2.0),
                self.run_at(100, "succeeded", 1.0),
            ):
                shows.update(run)
        self.assertEqual(
            printed.getvalue().splitlines(),
            [
                "tiny: queued, step 0/100",
                "tiny: running, step 0/100",
                "tiny: running, step 11/100, loss 2.0000",
                "tiny: succeeded, step 100/100, loss 1.0000",
            ],
        )

    def test_with_tqdm_there_is_a_bar_and_without_a_person_nothing(self):
        with contextlib.redirect_stderr(io.StringIO()) as printed:
            shows = progress.make(True)
            shows.update(self.run_at(50, loss=2.5))
            shows.close()
            shown = printed.getvalue()
            progress.make(None).update(self.run_at(60))
        self.assertIn("50/100", shown)
        self.assertIn("loss 2.5000", shown)
        self.assertEqual(printed.getvalue(), shown)  # without a person, nothing more


class OtherVersions(unittest.TestCase):
    """A server that is not the coordinator of this package."""

    def server(self, answers, streams=()):
        """`answers`: by method; a method in `streams` sends its answer once and ends."""
        methods = {
            name: grpc.unary_stream_rpc_method_handler(
                lambda request, context, answer=answer: iter([answer]), response_serializer=type(answer).SerializeToString
            )
            if name in streams
            else grpc.unary_unary_rpc_method_handler(
                lambda request, context, answer=answer: answer, response_serializer=type(answer).SerializeToString
            )
            for name, answer in answers.items()
        }
        server = grpc.server(concurrent.futures.ThreadPoolExecutor(2))
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("gp.v1.RunService", methods),))
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        self.addCleanup(server.stop, None)
        return f"127.0.0.1:{port}"

    def test_another_protocol_is_refused_in_words(self):
        address = self.server({"Version": run_service_pb2.VersionResponse(version="3.1.0", protocol=2)})
        with self.assertRaisesRegex(
            gp.IncompatibleVersion,
            f"the coordinator at {address} is gp 3.1.0 and speaks protocol 2; this "
            "package is 0.1.0 and speaks protocol 1: install the package of the",
        ):
            gp.connect(address)

    def test_an_older_coordinator_and_another_program_are_told_apart(self):
        with gp.connect(self.server({"Version": run_service_pb2.VersionResponse(version="0.0.9", protocol=1)})) as client:
            with self.assertRaisesRegex(
                gp.IncompatibleVersion, r"\(gp 0.0.9\) does not have Get, so it is older than this package"
            ):
                client.run("x")
        with self.assertRaisesRegex(gp.IncompatibleVersion, "is not a coordinator of gp"):
            gp.connect(self.server({}))

    def test_an_address_without_a_server_is_refused_after_the_timeout(self):
        with self.assertRaisesRegex(
            gp.Unreachable, "unix:/nowhere/gp.sock cannot be reached .* after trying for 0.3 s; is it running?"
        ):
            gp.connect("unix:/nowhere/gp.sock", timeout=0.3)

    def test_a_wait_whose_stream_ends_early_is_no_success(self):
        running = run_pb2.Run(run_id="x", name="tiny", state=run_pb2.RUN_STATE_RUNNING)
        answers = {
            "Version": run_service_pb2.VersionResponse(version="0.1.0", protocol=1),
            "Get": running,
            "Watch": run_service_pb2.WatchResponse(run=running),
        }
        with gp.connect(self.server(answers, streams=("Watch",))) as client:
            with self.assertRaisesRegex(gp.Unreachable, r"stopped sending news of run tiny \(x\), which is running"):
                client.run("tiny").wait()


class Sweeps(unittest.TestCase):
    """The ranking is that of client/api/sweep_ranking.cc; the losses are those of its test."""

    def sweep(self, losses, steps=None):
        """Two seeds of each of three rates."""
        message = sweep_service_pb2.Sweep(name="rates", namespace="default", trial_count=6, ended_trials=6)
        for index, loss in enumerate(losses):
            trial = message.trials.add(number=index + 1, state=sweep_service_pb2.TRIAL_STATE_DONE, run_id=f"r{index + 1}")
            trial.keys.update({"optimizer.lr": ("1e-3", "3e-3", "1e-1")[index // 2], "seed": str(index % 2 + 1)})
            trial.step = trial.target_steps = (steps or {}).get(index + 1, 100)
            trial.full_steps = 100
            if loss is not None:
                trial.validation_loss = loss
        return gp.Sweep(None, message)

    def test_candidates_are_ranked_by_the_mean_of_their_seeds(self):
        found = self.sweep([3.0, 3.2, 2.0, 2.2, None, None])
        first, second, last = found.ranking()
        self.assertEqual((first.keys, first.mean), ({"optimizer.lr": "3e-3"}, 2.1))
        self.assertAlmostEqual(first.spread, 0.1414, places=4)
        self.assertEqual(second.keys, {"optimizer.lr": "1e-3"})
        self.assertTrue(math.isnan(last.mean) and last.spread is None)
        self.assertEqual(found.best().number, 3)
        self.assertIsNone(self.sweep([None] * 6).best())

    def test_a_loss_after_fewer_steps_is_ranked_below(self):
        found = self.sweep([3.0, 3.2, 2.0, 2.2, 4.0, 4.2], {3: 50, 4: 50})
        self.assertEqual([one.trials[0].number for one in found.ranking()], [1, 5, 3])
        self.assertEqual(found.best().number, 1)
        found = self.sweep([3.0, 3.2, 2.0, 2.2, 4.0, 4.2], {3: 50})
        self.assertEqual([trial.number for trial in found.ranking()[0].ranked], [4], "only what trained the furthest counts")

    def test_a_frame_has_a_row_for_each_trial(self):
        frame = self.sweep([3.0, 3.2, 2.0, 2.2, None, None]).frame()
        self.assertEqual(list(frame.index), [1, 2, 3, 4, 5, 6])
        self.assertEqual(list(frame["optimizer.lr"]), [1e-3, 1e-3, 3e-3, 3e-3, 0.1, 0.1])
        self.assertEqual(frame["val_loss"].min(), 2.0)
        self.assertIn("<td>3e-3</td><td>2.1000</td><td>0.1414</td>", self.sweep([3.0, 3.2, 2.0, 2.2, None, None])._repr_html_())

    def test_states_of_a_newer_coordinator_are_shown_by_number(self):
        message = sweep_service_pb2.Sweep(name="rates", state=99)
        message.trials.add(number=1, state=sweep_service_pb2.TRIAL_STATE_LIVE)
        found = gp.Sweep(None, message)
        self.assertEqual((found.state, found.trials[0].state), ("state 99", "running"))

    def test_the_run_file_is_the_one_that_the_sweep_file_names(self):
        root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (root / "base.yaml").write_text("name: base\n")
        for line in ("run: base.yaml", 'run: "base.yaml"  # the base', "run: 'base.yaml'"):
            (root / "sweep.yaml").write_text(f"name: rates\n{line}\ngrid: {{a: [1]}}\n")
            read = sweep.read_sweep_file(root / "sweep.yaml")
            self.assertEqual((read.run.text, read.run.directory), ("name: base\n", str(root)), line)
        (root / "sweep.yaml").write_text("name: rates\nrun:\n  name: base\n  run: other\ngrid: {a: [1]}\n")
        self.assertIsNone(sweep.read_sweep_file(root / "sweep.yaml").run)
        read = sweep.read_sweep_file({"name": "rates", "run": root / "base.yaml", "grid": {"optimizer.lr": [1e-3, 3e-3]}})
        self.assertEqual(read.run.text, "name: base\n")
        self.assertIn("grid:\n  optimizer.lr: [0.001, 0.003]\n", read.file.text)
        self.assertIsNone(sweep.read_sweep_file({"name": "rates", "run": {"name": "base"}}).run)
        with self.assertRaisesRegex(gp.InvalidRequest, "none.yaml: No such file"):
            sweep.read_sweep_file({"run": "none.yaml"})


class Gateways(unittest.TestCase):
    def test_a_key_is_sent_only_where_nobody_can_read_it(self):
        for url in ("https://gp.example.org:7080", "http://127.0.0.1:7080", "http://[::1]:7080"):
            self.assertEqual(gateway.gateway_at(url, "secret").key, "secret")
        with self.assertRaisesRegex(gp.InvalidRequest, "the key is not sent to http://gp.example.org:7080, .* use https://"):
            gateway.gateway_at("http://gp.example.org:7080", "secret")
        self.assertEqual(gateway.gateway_at("http://gp.example.org:7080", "").url, "http://gp.example.org:7080")
        with self.assertRaisesRegex(gp.InvalidRequest, "'gp.example.org:7080' is not the address of a gateway"):
            gateway.gateway_at("gp.example.org:7080", "")


class Package(unittest.TestCase):
    def run_there(self, *command):
        return subprocess.run(command, cwd=python_packages.PACKAGE, check=False, capture_output=True, text=True)

    def test_the_messages_are_those_of_the_protos(self):
        done = self.run_there(python_packages.SOURCE / "scripts" / "make_python_stubs", "--check")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_mypy_finds_nothing_and_users_see_the_types(self):
        with tempfile.TemporaryDirectory() as cache:
            done = self.run_there(sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", "--cache-dir", cache)
            self.assertEqual(done.returncode, 0, done.stdout)
            program = (
                "import gp\nrun = gp.connect().submit('run.yaml', name='x')\nreveal_type(run.wait())\n"
                "for point in run.metrics(follow=True):\n    reveal_type(point.val_loss)\nrun.fork(steeps=1)\n"
            )
            done = subprocess.run(
                [sys.executable, "-m", "mypy", "--strict", "--cache-dir", cache, "-c", program],
                cwd=cache,
                env={**os.environ, "MYPYPATH": str(python_packages.PACKAGE / "src")},
                check=False,
                capture_output=True,
                text=True,
            )
        for text in ('Revealed type is "gp.run.Run"', '"float | None"', 'Unexpected keyword argument "steeps"'):
            self.assertIn(text, done.stdout.replace("Union[builtins.float, None]", "float | None").replace("builtins.", ""))

    def test_ruff_finds_nothing(self):
        for arguments in (("check", "src"), ("format", "--check", "src")):
            done = self.run_there(python_packages.PYTHON.parent / "ruff", *arguments, "--no-cache")
            self.assertEqual(done.returncode, 0, done.stdout)

    def test_the_version_is_that_of_the_project(self):
        project = (python_packages.PACKAGE / "pyproject.toml").read_text()
        self.assertIn(f'version = "{gp.__version__}"', project)

    def test_a_frame_without_pandas_says_what_to_install(self):
        with unittest.mock.patch.dict(sys.modules, {"pandas": None}):
            with self.assertRaisesRegex(ImportError, "needs pandas .'pip install pandas'.; run.metrics"):
                gp.Run(None, run_pb2.Run()).frame()


if __name__ == "__main__":
    unittest.main()
