#include "worker/engine/collectives/communicator.h"

#include <poll.h>

namespace gp::engine {
namespace {

// How long one poll waits. There is no deadline: the parts come from another thread of this
// process.
constexpr int kPartsSliceMs = 10000;

}  // namespace

void Communicator::AllReduceParts(TreeParts& parts) {
  while (!parts.ended()) {
    pollfd entry{parts.fd(), POLLIN, 0};
    poll(&entry, 1, kPartsSliceMs);
    if (const auto part = parts.Take()) AllReduceTree(part->values, part->partials);
    parts.Idle();
  }
}

void Communicator::CopyTo(std::span<std::byte>, int, const std::vector<int>&) {
  throw std::logic_error("this group cannot copy to a part of its ranks");
}

}  // namespace gp::engine
