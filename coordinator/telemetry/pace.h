// Pace: how fast a run has trained of late. Means over about the last ten minutes of its points,
// newer steps weighted more. One slow step barely changes the forecast; a machine that stays busy
// does change it. A value; one thread at a time.
#pragma once

#include <optional>

#include "contract/training_point.h"

namespace gp::coordinator {

struct Point;

class Pace {
 public:
  static constexpr double kMemorySeconds = 600;  // a step this old weighs 1/e of the newest one

  static constexpr double kForecastSeconds = 2;  // of training, before a forecast is shown

  // Weighted sums over the points; the weight of a point falls with the training time since then.
  // All 0 before the first point.
  struct Sums {
    double steps = 0;
    double wall_seconds = 0;  // evaluations, samples and saves between steps included
    double step_seconds = 0;  // of the steps only
    double tokens = 0;        // of all ranks
    double flops_share = 0;   // MFU times the seconds of its step
    contract::StepPhases phases;
    double waited_share = 0;   // processor_wait times the seconds of its step
    double share_seconds = 0;  // of the steps that have a processor_wait

    bool operator==(const Sums&) const = default;

    template <typename Visit>
    static constexpr void ForEachField(Visit&& visit) {
      using contract::FieldInfo;
      visit(FieldInfo{"steps"}, &Sums::steps);
      visit(FieldInfo{"wall_seconds"}, &Sums::wall_seconds);
      visit(FieldInfo{"step_seconds"}, &Sums::step_seconds);
      visit(FieldInfo{"tokens"}, &Sums::tokens);
      visit(FieldInfo{"flops_share"}, &Sums::flops_share);
      visit(FieldInfo{"phases"}, &Sums::phases);
      visit(FieldInfo{"waited_share"}, &Sums::waited_share);
      visit(FieldInfo{"share_seconds"}, &Sums::share_seconds);
    }
  };

  Pace() = default;
  explicit Pace(const Sums& sums) : sums_(sums) {}

  // `previous` is the point before it, or null. The time between the last step of an epoch and the
  // first of the next one does not count.
  void Add(const contract::TrainingPoint* previous, const contract::TrainingPoint& point);

  bool known() const { return sums_.steps > 0; }
  // False before kForecastSeconds of training were observed: the first steps alone say little about
  // later ones, with evaluations and saves between them.
  bool forecasts() const { return sums_.wall_seconds >= kForecastSeconds; }
  // REQUIRES for all below: known().
  double SecondsPerStep() const { return sums_.wall_seconds / sums_.steps; }
  double StepSeconds() const { return sums_.step_seconds / sums_.steps; }
  double TokensPerSecond() const;       // tokens per second of step time; 0 when that is unknown
  double Mfu() const;                   // weighted by step time
  contract::StepPhases Phases() const;  // the mean of a step
  std::optional<double> ProcessorWait() const;  // weighted by step time; absent when unknown

  const Sums& sums() const { return sums_; }
  bool operator==(const Pace&) const = default;

 private:
  void Fade(double seconds);

  Sums sums_;
};

}  // namespace gp::coordinator
