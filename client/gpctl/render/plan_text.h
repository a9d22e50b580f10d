// Describes a run before it is submitted: its work, memory and time, as text and as fields. Memory
// and time are for a machine like this one; reads /proc/cpuinfo. Thread-safe.
#pragma once

#include <optional>
#include <string>

#include "base/machine/available_memory.h"
#include "client/gpctl/render/run_json.h"
#include "plan/run_spec.h"
#include "tokenizer/data/data_report.h"

namespace gp::gpctl {

// `data` describes the data files; nullptr when they were not read.
std::string PlanText(const runspec::RunSpec& spec, const AvailableMemory& memory,
                     const DataReport* data = nullptr);

// The same as fields: parameters, tokens_per_step, target_steps, memory, ...
Json PlanFields(const runspec::RunSpec& spec, const AvailableMemory& memory,
                const DataReport* data = nullptr);

Json DataFields(const DataReport& data);

// How many passes over the training data `tokens` tokens of training make.
double Passes(int64_t tokens, const DataReport& data);

// A warning when the run would not fit on this machine, with the setting that would make it fit.
// Another machine may train it. None for a run on GPUs: their memory is unknown here.
std::optional<std::string> MemoryWarning(const runspec::RunSpec& spec,
                                         const AvailableMemory& memory);

// A warning when a failure could lose more than an hour of work on a machine like this one. None
// for a run on GPUs.
std::optional<std::string> LostWorkWarning(const runspec::RunSpec& spec,
                                           const AvailableMemory& memory);

}  // namespace gp::gpctl
