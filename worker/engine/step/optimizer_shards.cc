#include "worker/engine/step/optimizer_shards.h"

#include <algorithm>

#include "worker/engine/collectives/tree_plan.h"

namespace gp::engine {
namespace {

// Elements that are sent to rank 0 at a time: 4 MiB.
constexpr int64_t kPiece = int64_t{1} << 20;

bool Holds(const std::vector<float>& values, const void* memory) {
  const std::less_equal<const void*> not_after;
  return !values.empty() && not_after(values.data(), memory) && not_after(memory, &values.back());
}

int64_t BytesOf(int64_t count) { return count * static_cast<int64_t>(sizeof(float)); }

}  // namespace

bool HostMoments::Holds(const void* memory) const {
  return engine::Holds(first, memory) || engine::Holds(second, memory);
}

OptimizerSlice OptimizerShards::SliceOf(int64_t total, int rank, int ranks) {
  const ElementRange part =
      PartOf(static_cast<size_t>(total), static_cast<size_t>(rank), static_cast<size_t>(ranks));
  return {static_cast<int64_t>(part.begin), static_cast<int64_t>(part.end)};
}

void OptimizerShards::GatherParameters() {
  DeviceCollectives& device = *communicator_.device();
  device.BeginAllGather(std::as_writable_bytes(model_.parameters()), sizeof(float));
  device.Rejoin();
  optimizer_.RefreshWorkingCopy(model_);
}

void OptimizerShards::GatherMoments(HostMoments* moments) {
  Gather(optimizer_.first_moment(), moments == nullptr ? nullptr : &moments->first);
  Gather(optimizer_.second_moment(), moments == nullptr ? nullptr : &moments->second);
}

void OptimizerShards::Gather(std::span<const float> own, std::vector<float>* all) {
  const int64_t total = std::ssize(model_.parameters());
  if (all != nullptr) all->resize(static_cast<size_t>(total));
  piece_.resize(static_cast<size_t>(std::min(kPiece, total)));
  for (int rank = 0; rank < communicator_.size(); ++rank) {
    const OptimizerSlice slice = SliceOf(total, rank, communicator_.size());
    for (int64_t first = slice.first; first < slice.last; first += kPiece) {
      const int64_t count = std::min(kPiece, slice.last - first);
      if (rank == communicator_.rank()) {
        model_.backend().Download(piece_.data(), own.data() + (first - slice.first),
                                  BytesOf(count));
      }
      const auto piece = std::span(piece_).first(static_cast<size_t>(count));
      communicator_.Broadcast(std::as_writable_bytes(piece), rank);
      if (all != nullptr) std::copy(piece.begin(), piece.end(), all->begin() + first);
    }
  }
}

void OptimizerShards::LoadMoments(const HostMoments& moments) {
  const OptimizerSlice slice =
      SliceOf(std::ssize(model_.parameters()), communicator_.rank(), communicator_.size());
  const int64_t bytes = BytesOf(slice.last - slice.first);
  Backend& backend = model_.backend();
  backend.Upload(optimizer_.first_moment().data(), moments.first.data() + slice.first, bytes);
  backend.Upload(optimizer_.second_moment().data(), moments.second.data() + slice.first, bytes);
}

}  // namespace gp::engine
