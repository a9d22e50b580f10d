// Sweeps as text. Pure functions; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "client/gpctl/render/run_text.h"
#include "gp/v1/sweep_service.pb.h"

namespace gp::gpctl {

// "NAME", or "NAMESPACE/NAME" outside of the default namespace.
std::string ReferenceOf(const v1::Sweep& sweep);

// State, early stopping, the candidates by rank, what their differences show, and the trials that
// failed or were stopped.
std::string SweepDetails(const v1::Sweep& sweep, const TextStyle& style);

// The best candidate: its keys, losses and the run of its best trial. REQUIRES: a trial has a loss.
std::string BestText(const v1::Sweep& sweep, const TextStyle& style);

std::string SweepTable(const std::vector<v1::Sweep>& sweeps, const TextStyle& style);

}  // namespace gp::gpctl
