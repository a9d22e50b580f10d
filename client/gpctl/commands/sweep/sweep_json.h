// Sweeps as JSON; absent values are left out. Pure functions; thread-safe.
#pragma once

#include "client/gpctl/render/run_json.h"
#include "gp/v1/sweep_service.pb.h"

namespace gp::gpctl {

// The numbers of the sweep, its trials and, by rank, its candidates.
Json SweepFields(const v1::Sweep& sweep);

Json TrialFields(const v1::SweepTrial& trial);

}  // namespace gp::gpctl
