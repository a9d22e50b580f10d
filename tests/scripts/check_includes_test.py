"""scripts/check_includes.py reports every include that crosses a layer, and nothing else."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "check_includes.py"


def check(files):
    """Runs the script on a directory that holds `files` (path: content); returns (status, output)."""
    with tempfile.TemporaryDirectory() as directory:
        for path, content in files.items():
            file = pathlib.Path(directory, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content, encoding="utf-8")
        done = subprocess.run([sys.executable, SCRIPT, "--root", directory, *files],
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stdout


class CheckIncludes(unittest.TestCase):
    def expect_crossing(self, path, include, **others):
        status, output = check({path: f"// A comment.\n#include {include}\n", **others})
        self.assertEqual(status, 1, output)
        self.assertIn(f"{path}:2: must not include {include[1:-1]}", output)

    def expect_allowed(self, path, include, **others):
        status, output = check({path: f"#include {include}\n", **others})
        self.assertEqual(status, 0, output)

    def test_columns_never_include_each_other(self):
        self.expect_crossing("coordinator/service/a.cc", '"worker/agent/agent.h"')
        self.expect_crossing("worker/agent/a.cc", '"worker/engine/model/gpt2.h"')
        self.expect_crossing("worker/trainer/a.cc", '"coordinator/state/run.h"')
        self.expect_crossing("client/gpctl/a.cc", '"coordinator/store/store.h"')

    def test_lower_layers_do_not_look_up(self):
        self.expect_crossing("lib/base/a.h", '"rpc/server.h"')
        self.expect_crossing("coordinator/state/a.cc", '"coordinator/store/store.h"')
        self.expect_crossing("coordinator/store/a.cc", '"coordinator/service/user_service.h"')

    def test_what_daemons_share_knows_none_of_them(self):
        self.expect_allowed("coordinator/daemon.cc", '"daemon/program.h"')
        self.expect_allowed("worker/agent/daemon.cc", '"daemon/program.h"')
        self.expect_allowed("coordinator/store/sqlite_store.h", '"daemon/state_lock.h"')
        self.expect_crossing("coordinator/store/a.cc", '"daemon/program.h"')
        self.expect_crossing("lib/daemon/a.cc", '"coordinator/settings.h"')
        self.expect_crossing("lib/daemon/a.cc", '"rpc/server.h"')
        self.expect_crossing("worker/trainer/a.cc", '"daemon/program.h"')

    def test_the_control_plane_has_no_torch(self):
        for folder in ("daemon", "coordinator", "worker/agent", "client/gpctl", "lib/formats", "lib/contract"):
            self.expect_crossing(f"{folder}/a.cc", "<ATen/ATen.h>")

    def test_the_engine_has_no_grpc_and_no_protobuf(self):
        self.expect_crossing("worker/trainer/a.cc", "<grpcpp/grpcpp.h>")
        self.expect_crossing("worker/data/a.cc", '"gp/v1/run.pb.h"')
        self.expect_crossing("lib/contract/a.cc", "<google/protobuf/message.h>")

    def test_the_engine_core_has_only_the_standard_library_and_torch(self):
        self.expect_allowed("worker/engine/model/a.cc", "<ATen/ops/mm.h>")
        self.expect_allowed("worker/engine/model/a.cc", "<vector>")
        self.expect_crossing("worker/engine/model/a.cc", '"base/status.h"')
        self.expect_crossing("worker/engine/backend/cpu/a.cc", "<fmt/format.h>")
        self.expect_crossing("worker/engine/optim/a.cc", '"runspec/schema.h"')
        self.expect_crossing("worker/engine/optim/a.cc", '"worker/engine/step/step_timer.h"')

    def test_the_engine_core_may_use_headers_of_lib_that_need_only_the_standard_library(self):
        shape = {"lib/plan/model_shape.h": "#include <vector>\n"}
        plan = {"lib/plan/arena_plan.h": '#include "plan/model_shape.h"\n', **shape}
        self.expect_allowed("worker/engine/model/a.cc", '"plan/arena_plan.h"', **plan)
        self.expect_allowed("worker/engine/model/a.cc", '"base/mutex.h"', **{"lib/base/mutex.h": "#include <mutex>\n"})

        torn = {**plan, "lib/plan/model_shape.h": "#include <fmt/format.h>\n"}
        self.expect_crossing("worker/engine/model/a.cc", '"plan/arena_plan.h"', **torn)

    def test_sizes_need_only_the_standard_library(self):
        self.expect_allowed("lib/plan/run_spec.h", "<string>")
        self.expect_allowed("lib/plan/run_spec.h", '"plan/model_shape.h"')
        self.expect_crossing("lib/plan/run_spec.h", '"base/status.h"')
        self.expect_crossing("lib/plan/model_shape.h", "<fmt/format.h>")

    def test_the_coordinator_core_is_pure(self):
        self.expect_allowed("coordinator/state/a.h", '"base/status.h"')
        self.expect_allowed("coordinator/scheduler/a.cc", '"coordinator/state/run.h"')
        for include in ('"base/file.h"', '"base/mutex.h"', "<thread>", "<mutex>", "<fstream>",
                        "<unistd.h>", "<sys/stat.h>", "<grpcpp/grpcpp.h>", '"gp/v1/run.pb.h"'):
            self.expect_crossing("coordinator/state/a.cc", include)

    def test_a_folder_without_a_row_is_reported(self):
        status, output = check({"newcomer/a.cc": "#include <vector>\n"})
        self.assertEqual(status, 1)
        self.assertIn("has no row", output)

    def test_the_folders_of_lib_have_an_order(self):
        self.expect_allowed("lib/runspec/a.cc", '"plan/model_shape.h"')
        self.expect_crossing("lib/plan/a.cc", '"runspec/schema.h"')
        self.expect_crossing("lib/formats/a.cc", '"tokenizer/tokenizer.h"')

    def test_folders_that_include_each_other_are_reported(self):
        files = {"client/gpctl/render/a.h": '#include "client/gpctl/doctor/b.h"\n',
                 "client/gpctl/doctor/b.h": "\n",
                 "client/gpctl/doctor/c.cc": '#include "client/gpctl/session/d.h"\n',
                 "client/gpctl/session/d.h": '#include "client/gpctl/render/a.h"\n'}
        status, output = check(files)
        self.assertEqual(status, 1)
        self.assertIn("folders include each other: ", output)
        self.assertIn("client/gpctl/render/a.h:1: client/gpctl/render includes client/gpctl/doctor", output)
        self.assertIn("client/gpctl/doctor/c.cc:1: client/gpctl/doctor includes client/gpctl/session", output)

        del files["client/gpctl/session/d.h"]
        self.assertEqual(check(files)[0], 0)

    def test_a_folder_and_the_one_around_it_may_include_each_other_one_way_only(self):
        files = {"worker/agent/a.h": '#include "worker/agent/gpu/b.h"\n', "worker/agent/gpu/b.h": "\n"}
        self.assertEqual(check(files)[0], 0)
        files["worker/agent/gpu/c.cc"] = '#include "worker/agent/a.h"\n'
        status, output = check(files)
        self.assertEqual(status, 1)
        self.assertIn("folders include each other: worker/agent -> worker/agent/gpu -> worker/agent", output)

    def test_tests_may_look_anywhere(self):
        self.expect_allowed("tests/coordinator/a_test.cc", '"rpc/server.h"')


if __name__ == "__main__":
    unittest.main()
