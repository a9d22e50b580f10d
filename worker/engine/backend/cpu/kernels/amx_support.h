// AmxSupport: whether this process can compute with the tile registers of AMX. The processor must
// have them, the kernel must permit their use (their state is 8 KB for each thread, so Linux grants
// it on request), and they must give the bits of TwinTiles. Functions may be called from any
// thread.
#pragma once

#include <functional>
#include <string>

#include "worker/engine/backend/cpu/kernels/tiles.h"

namespace gp::engine {

struct AmxSupport {
  bool usable = false;
  std::string why_not;  // a clause: "this processor has no AMX"
};

// The three conditions, in the order in which they are asked. Each is asked only if the previous
// one holds.
struct AmxProbe {
  std::function<bool()> processor_has_it;
  std::function<int()> request_permission;  // 0 or an errno
  std::function<std::string()> difference;  // between tiles and twin; empty: none
};
AmxSupport FindAmx(const AmxProbe& probe);

// This process' support. The first call asks, later ones return its answer.
const AmxSupport& Amx();

// Multiplies every class of block (numbers of tiles, contiguous and strided operands, a new and an
// accumulated C; ordinary values, values whose products underflow, any bits) with both. Names the
// first one with a different bit: "32 x 16 x 96, any bits". Empty: none.
std::string FirstDifference(const Tiles& one, const Tiles& other);

}  // namespace gp::engine
