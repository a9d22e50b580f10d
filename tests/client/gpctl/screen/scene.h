// A service in the middle of its work, for tests of live screens: a run with curves, events, a log
// and a sample; others that run and wait; nodes. The same at every call.
#pragma once

#include <vector>

#include "client/fake_run_service.h"
#include "gp/v1/run.pb.h"

namespace gp::testing {

// When the scene is looked at, in seconds since 1970. Times of its run lie more than a day before,
// so that ages on screens do not change within an hour.
inline constexpr int64_t kSceneNow = 1763716440 + 95'400;

v1::Run SceneRun();
std::vector<v1::MetricPoint> ScenePoints();
std::vector<v1::RunEvent> SceneEvents();
std::vector<v1::LogLine> SceneLines();
std::vector<v1::Run> OtherSceneRuns();
std::vector<v1::Node> SceneNodes();

// Fills the service with the scene. Its clock shows kSceneNow.
void PlayScene(FakeRunService& service);

}  // namespace gp::testing
