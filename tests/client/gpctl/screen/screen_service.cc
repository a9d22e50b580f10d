// gp-screen-service: a coordinator that shows the scene of tests/client/gpctl/screen/scene.h, for
// tests of live screens in a real terminal. Prints its address, serves until its input ends. The
// line "end" of the input lets the run of the scene succeed.
#include <iostream>
#include <string>

#include "client/gpctl/screen/scene.h"

namespace {

gp::v1::Run EndedRun() {
  gp::v1::Run run = gp::testing::SceneRun();
  run.set_state(gp::v1::RUN_STATE_SUCCEEDED);
  run.set_reason("all steps are done");
  run.mutable_finished_at()->set_seconds(gp::testing::kSceneNow);
  run.clear_use();
  return run;
}

}  // namespace

int main() {
  gp::testing::FakeRunService service;
  gp::testing::PlayScene(service);
  for (const int64_t step : {5000, 7000}) {
    gp::v1::Checkpoint checkpoint;
    checkpoint.set_run_id(gp::testing::SceneRun().run_id());
    checkpoint.set_step(step);
    service.AddCheckpoint(checkpoint);
  }
  std::cout << service.address() << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "end") service.AppendWatch(EndedRun());
  }
  return 0;
}
