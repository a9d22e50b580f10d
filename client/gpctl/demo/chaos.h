// Chaos: during a demo it kills a worker, pauses another and kills the coordinator, one after the
// other, and says at the end what the run did. Used by gpctl's main thread.
#pragma once

#include <string>
#include <vector>

#include "client/gpctl/faults/fault_timeline.h"
#include "client/gpctl/render/run_model.h"
#include "client/gpctl/service/service_directory.h"

namespace gp::gpctl {

class Chaos {
 public:
  // Workers of the run, so that one is left after two were lost, and they still share the work.
  static constexpr int kWorkers = 4;

  // For a run that trains for `seconds`.
  explicit Chaos(double seconds) : pause_(seconds * kPart) {}

  // Call it several times a second while the run trains; `now` in seconds since 1970. Returns a
  // line when it has done something, otherwise "".
  std::string Strike(const ServiceRecord& service, const v1::Run& run, double now);

  // What happened, on one screen: each fault, and how long the run took to its next step. `points`
  // and `events` are all those of the run.
  std::string Report(const v1::Run& run, const std::vector<v1::MetricPoint>& points,
                     const std::vector<v1::RunEvent>& events) const;

 private:
  // The part of the training between two faults: the last one leaves time to see the run go on.
  static constexpr double kPart = 0.2;

  struct Struck {
    std::string what;
    Fault fault;
  };

  static std::string Hurt(size_t number, const ServiceRecord& service);

  const double pause_;
  double began_ = 0;  // when the run trained for the first time
  std::vector<Struck> struck_;
};

}  // namespace gp::gpctl
