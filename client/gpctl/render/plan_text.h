// What a run will do and what it will need, before it is submitted: for people and as fields.
// Memory is told for a worker on a machine like this one. Pure functions; thread-safe.
#pragma once

#include <optional>
#include <string>

#include "base/available_memory.h"
#include "client/gpctl/render/run_json.h"
#include "runspec/run_spec.h"

namespace gp::gpctl {

std::string PlanText(const runspec::RunSpec& spec, const AvailableMemory& memory);

// The same as fields: parameters, tokens_per_step, target_steps, memory, ...
Json PlanFields(const runspec::RunSpec& spec, const AvailableMemory& memory);

// That the run would not fit here, with the setting that would make it fit; the machine that trains
// it may be another.
std::optional<std::string> MemoryWarning(const runspec::RunSpec& spec,
                                         const AvailableMemory& memory);

}  // namespace gp::gpctl
