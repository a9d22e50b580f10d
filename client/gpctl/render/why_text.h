// Why a run waits for slots, or trains slower than forecast: computed from the coordinator's
// current answers; stored nowhere. Pure functions; thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/gpctl/render/run_json.h"
#include "client/gpctl/render/run_text.h"
#include "gp/v1/run.pb.h"

namespace gp::gpctl {

// The state around the run.
struct Surroundings {
  std::vector<v1::Run> live_runs;  // those that the caller may look at
  std::vector<v1::Node> nodes;
};

// A run that holds slots for which another one waits.
struct SlotHolder {
  std::string run_id;
  std::string name;  // empty: the caller may not look at it
  int slots = 0;
  std::string nodes;  // "node-1, node-2"
  std::optional<double> seconds_left;
};

struct StepForecast {
  double step_seconds = 0;
  std::string basis;  // "2 cores at 40 GFLOP/s, the stated rate of AVX2"
};

// One thing that explains the run's state.
struct Finding {
  std::string about;  // "machine", "data", "held by"
  std::string text;
};

// Runs holding slots of the kind that this run waits for, ordered by when they end; unknown ends
// come last.
std::vector<SlotHolder> HoldersOf(const v1::Run& run, const Surroundings& around);

// How long a step would take at the stated rate of the run's cores. Nullopt for a run on GPUs, and
// before its first steps.
std::optional<StepForecast> ForecastStep(const v1::Run& run);

// For a waiting run: its place in the queue, and which runs hold the slots and until when. For a
// run that waits or is in backoff: the nodes that it passes over. For a running one: its speed
// compared with the forecast, and what slows it down. In every state: the run's newest warning.
std::vector<Finding> FindingsOn(const v1::Run& run, const Surroundings& around, double now);

// "NAME is STATE: REASON", then the findings, one per line.
std::string WhyText(const v1::Run& run, const Surroundings& around, double now,
                    const TextStyle& style);
Json WhyFields(const v1::Run& run, const Surroundings& around, double now);

}  // namespace gp::gpctl
