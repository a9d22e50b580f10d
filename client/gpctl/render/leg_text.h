// The texts of commands that begin another leg of a run or fork it. Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/api/key_difference.h"
#include "gp/v1/run.pb.h"
#include "plan/run_spec.h"
#include "plan/training_start.h"

namespace gp::gpctl {

// "step 300"; "the start" for a step of 0 or less.
std::string PlaceText(int64_t step);

// "step 300: extended to 500 steps": where the leg began, and why.
std::string BeginningText(const v1::Leg& leg);

// Where the run's counters begin: at its parent's checkpoint if it keeps the position in the data.
runspec::TrainingStart StartOf(const v1::Run& run, const runspec::RunSpec& spec);

// The learning rate of the update after `step` committed steps; 0 if the run file sets only a wall
// time and no decay, because the schedule's length is then not known before the run. `start`: where
// the run's counters begin, here and below.
double LearningRateAt(const runspec::RunSpec& spec, int64_t step,
                      const runspec::TrainingStart& start = {});

// "learning rate 3e-05 at step 300, 3e-05 at step 500: the cosine schedule ended at step 300
// (schedule.decay_steps)", for a leg from `step` to the end of its budget. One line, no newline.
std::string ScheduleText(const runspec::RunSpec& spec, int64_t step,
                         const runspec::TrainingStart& start = {});

// The keys that differ between two resolved run files, without those that change with every run:
// the name, and what the run began from. None if a file is empty or cannot be read.
std::vector<client::KeyDifference> ChangesBetween(const std::string& before,
                                                  const std::string& after);

// "optimizer.lr 0.001 -> 0.0005, seed 1 -> 2"; "none" for a key that a file lacks. Empty when
// nothing differs.
std::string DifferencesText(const std::vector<client::KeyDifference>& differences);

}  // namespace gp::gpctl
