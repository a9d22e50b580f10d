// The tuning cache: the choices that `gp-bench tune` measured on this machine. Later runs start
// with them. One text file for each processor model, instruction-set level and number of threads:
// $XDG_CACHE_HOME/gp/kernels-<processor>-<level>-<threads>.txt, KernelChoices::Encode inside.
// Functions may be called from any thread. Standard library only.
#pragma once

#include <string>

#include "worker/engine/backend/cpu/kernel_choices.h"

namespace gp::engine {

// Empty when neither XDG_CACHE_HOME nor HOME is set.
std::string TunedChoicesPath(Isa isa, int threads);

// The default when there is no file or it cannot be read. Throws std::invalid_argument that names a
// damaged file.
KernelChoices ReadTunedChoices(Isa isa, int threads);

// Replaces the file atomically: a reader finds the old or the new one. Throws std::runtime_error
// that names the path.
void WriteTunedChoices(const KernelChoices& choices, Isa isa, int threads);

}  // namespace gp::engine
