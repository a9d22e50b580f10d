#include "worker/engine/collectives/nccl_tree.h"

#include <algorithm>

#include "worker/engine/backend/cuda/kernels/flat.h"

namespace gp::engine {
namespace {

constexpr char kOperation[] = "all-reduce";

std::span<float> Part(std::span<float> whole, ElementRange range) {
  return whole.subspan(range.begin, range.size());
}

// An upper bound for a participant's chunk of a piece of `elements`, in elements: PartOf rounds the
// boundaries of chunks.
size_t LongestChunk(size_t elements, size_t participants) { return elements / participants + 32; }

int64_t ScratchBytes(const TreePlan& plan, size_t room) {
  const size_t arriving = plan.leaf_count() - plan.leaves[plan.own].size();
  return static_cast<int64_t>(arriving * room * sizeof(float));
}

}  // namespace

NcclTree::NcclTree(const TreePlan& plan, NcclConnection& connection)
    : plan_(plan),
      connection_(connection),
      room_(LongestChunk(kPieceElements, plan.participants())),
      scratch_(ScratchBytes(plan, room_)) {}

void NcclTree::Run(std::span<float> values, const Spans& partials, cudaStream_t stream) {
  for (size_t begin = 0; begin < values.size(); begin += kPieceElements) {
    const ElementRange piece{begin, std::min(begin + kPieceElements, values.size())};
    Spans parts;
    for (const std::span<float> partial : partials) parts.push_back(Part(partial, piece));
    RunPiece(Part(values, piece), parts, stream);
  }
}

void NcclTree::RunPiece(std::span<float> values, const Spans& partials, cudaStream_t stream) {
  const ElementRange own = PartOf(values.size(), plan_.own, plan_.participants());
  const Spans leaves = LeavesOfOwnChunk(partials, own);
  Exchange(partials, leaves, values.size(), stream);
  for (const Addition& addition : plan_.order) {
    const std::span<float> into = leaves[static_cast<size_t>(addition.into)];
    const std::span<float> from = leaves[static_cast<size_t>(addition.from)];
    if (into.empty()) continue;
    LaunchAxpby(std::ssize(into), into.data(), 1, into.data(), 1, from.data(), stream);
  }
  const std::span<float> sum = Part(values, own);
  if (sum.data() != leaves[0].data() && !sum.empty()) {
    LaunchAxpby(std::ssize(sum), sum.data(), 1, leaves[0].data(), 0, nullptr, stream);
  }
  Gather(values, stream);
}

// For each leaf, the memory of this rank's chunk of it: the caller's, or the scratch memory where a
// peer's will arrive.
NcclTree::Spans NcclTree::LeavesOfOwnChunk(const Spans& partials, ElementRange own) {
  const std::vector<size_t>& mine = plan_.leaves[plan_.own];
  Spans leaves(plan_.leaf_count());
  size_t slot = 0;
  for (size_t leaf = 0; leaf < leaves.size(); ++leaf) {
    const auto found = std::find(mine.begin(), mine.end(), leaf);
    if (found != mine.end()) {
      leaves[leaf] = Part(partials[static_cast<size_t>(found - mine.begin())], own);
    } else {
      leaves[leaf] = {reinterpret_cast<float*>(scratch_.data()) + slot++ * room_, own.size()};
    }
  }
  return leaves;
}

void NcclTree::Exchange(const Spans& partials, const Spans& leaves, size_t count,
                        cudaStream_t stream) {
  const NcclApi& nccl = connection_.api();
  std::vector<NcclConnection::Call> calls;
  for (size_t peer = 0; peer < plan_.participants(); ++peer) {
    if (peer == plan_.own) continue;
    const int rank = static_cast<int>(peer);
    for (const std::span<float> partial : partials) {
      const std::span<float> theirs = Part(partial, PartOf(count, peer, plan_.participants()));
      if (theirs.empty()) continue;
      calls.push_back([=, &nccl](ncclComm_t comm) {
        return nccl.send(theirs.data(), theirs.size(), ncclFloat32, rank, comm, stream);
      });
    }
    for (const size_t leaf : plan_.leaves[peer]) {
      const std::span<float> arriving = leaves[leaf];
      if (arriving.empty()) continue;
      calls.push_back([=, &nccl](ncclComm_t comm) {
        return nccl.receive(arriving.data(), arriving.size(), ncclFloat32, rank, comm, stream);
      });
    }
  }
  connection_.IssueGroup(kOperation, calls);
}

void NcclTree::Gather(std::span<float> values, cudaStream_t stream) {
  const NcclApi& nccl = connection_.api();
  const auto chunk = [&](size_t rank) {
    return Part(values, PartOf(values.size(), rank, plan_.participants()));
  };
  std::vector<NcclConnection::Call> calls;
  for (size_t peer = 0; peer < plan_.participants(); ++peer) {
    if (peer == plan_.own) continue;
    const int rank = static_cast<int>(peer);
    const std::span<float> own = chunk(plan_.own);
    const std::span<float> theirs = chunk(peer);
    if (!own.empty()) {
      calls.push_back([=, &nccl](ncclComm_t comm) {
        return nccl.send(own.data(), own.size(), ncclFloat32, rank, comm, stream);
      });
    }
    if (!theirs.empty()) {
      calls.push_back([=, &nccl](ncclComm_t comm) {
        return nccl.receive(theirs.data(), theirs.size(), ncclFloat32, rank, comm, stream);
      });
    }
  }
  connection_.IssueGroup(kOperation, calls);
}

}  // namespace gp::engine
