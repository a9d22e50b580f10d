// The budget of a trial in its resolved run file. Pure; thread-safe.
#pragma once

#include "coordinator/state/sweep.h"

namespace gp::coordinator {

// The trial's submission with the budget of this rung, counted from 0.
// REQUIRES: the sweep halves, and the resolved file is as runspec::ResolvedYaml writes it.
Submission WithBudgetOfRung(const SweepSpec& spec, const SweepTrial& trial, size_t rung);

}  // namespace gp::coordinator
