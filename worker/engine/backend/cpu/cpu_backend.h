// The CPU backend: hand-written kernels at five instruction-set levels behind one table
// (kernel_set.h), its own thread pool, huge pages. Standard library only.
#pragma once

#include <cstdint>
#include <memory>

#include "worker/engine/backend/backend.h"
#include "worker/engine/backend/cpu/kernel_choices.h"
#include "worker/engine/backend/cpu/kernels/isa.h"
#include "worker/engine/backend/cpu/kernels/kernel_set.h"

namespace gp::engine {

struct CpuBackendOptions {
  int threads = 1;
  Isa isa = Isa::kAuto;
  TileUse tiles = TileUse::kIfUsable;  // for level `amx`
  // The largest attention that will be computed; the workspace is made for it.
  int64_t sequence = 1;
  int64_t head_size = 1;
  KernelChoices choices = {};  // no choice changes a result's bits
};

// Throws std::invalid_argument when this processor lacks `isa`.
std::unique_ptr<Backend> MakeCpuBackend(const CpuBackendOptions& options);

}  // namespace gp::engine
