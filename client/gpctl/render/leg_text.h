// The texts of commands that begin another leg of a run or fork it. Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/run_spec.h"
#include "runspec/key_difference.h"

namespace gp::gpctl {

// The learning rate of the update after `step` committed steps; 0 if the run file sets only a wall
// time, because the schedule's length is then not known before the run.
double LearningRateAt(const runspec::RunSpec& spec, int64_t step);

// "learning rate 3e-05 at step 300, 3e-05 at step 500: the cosine schedule ended at step 300
// (schedule.decay_steps)", for a leg from `step` to the end of its budget. One line, no newline.
std::string ScheduleText(const runspec::RunSpec& spec, int64_t step);

// "optimizer.lr 0.001 -> 0.0005, seed 1 -> 2"; empty when nothing differs.
std::string DifferencesText(const std::vector<runspec::KeyDifference>& differences);

}  // namespace gp::gpctl
