#include "worker/engine/collectives/node_reduction.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "worker/engine/collectives/tree_exchange.h"

namespace gp::engine {
namespace {

// A block of every leaf stays in the cache while it is added up: 32 KiB.
constexpr size_t kBlockElements = 8192;

void CopyInto(std::span<float> into, std::span<const float> from) {
  if (into.data() != from.data()) std::memcpy(into.data(), from.data(), from.size_bytes());
}

}  // namespace

NodeReduction::NodeReduction(const TreePlan& whole, const std::vector<size_t>& node_of,
                             std::unique_ptr<NodeMemory> memory,
                             std::vector<std::optional<PeerMemory>> peers)
    : whole_(whole),
      plan_(whole, node_of),
      memory_(std::move(memory)),
      peers_(std::move(peers)),
      staged_(whole.leaves[whole.own].size()) {
  for (const int mate : plan_.mates) {
    if (mate != static_cast<int>(whole.own)) other_mates_.push_back(mate);
  }
}

void NodeReduction::Run(Wire& wire, std::span<float> values,
                        const std::vector<std::span<float>>& partials) {
  if (values.empty()) return Meet(wire, Operation::kNodeDone, 0);
  std::vector<std::span<float>> shared;
  for (size_t i = 0; i < partials.size(); ++i) shared.push_back(Shared(partials[i], i));
  // If mates cannot reach `values`, they write the result into the memory of a partial sum, which
  // is not needed any more.
  const std::span<float> result = IsShared(values) ? values : shared[0];

  const Views views = Publish(wire, values, shared, result);
  SumWithin(views, values.size());
  if (!plan_.one_node()) SumAcross(wire, views, values.size());
  Meet(wire, Operation::kNodeDone, values.size());
  CopyInto(values, result.first(values.size()));
}

bool NodeReduction::IsShared(std::span<const float> values) const {
  return is_alone() || memory_->OffsetOf(values).has_value();
}

// `values`, or a copy of them in shared memory.
std::span<float> NodeReduction::Shared(std::span<float> values, size_t index) {
  if (IsShared(values)) return values;
  std::span<float>& staged = staged_[index];
  if (staged.size() < values.size()) {
    // At least twice the last size, so that few blocks of unused memory remain.
    staged = memory_->Allocate(std::max(values.size(), 2 * staged.size()));
  }
  const std::span<float> copy = staged.first(values.size());
  CopyInto(copy, values);
  return copy;
}

std::span<float> NodeReduction::Allocate(size_t count) {
  return is_alone() ? std::span<float>{} : memory_->Allocate(count);
}

// Sends the mates the places of this rank's partial sums and result, and receives theirs.
NodeReduction::Views NodeReduction::Publish(Wire& wire, std::span<float> values,
                                            const std::vector<std::span<float>>& shared,
                                            std::span<float> result) {
  size_t leaves_max = 0;
  for (const auto& leaves : whole_.leaves) leaves_max = std::max(leaves_max, leaves.size());
  // The result's place, then each partial sum's.
  std::vector<uint64_t> own(1 + leaves_max);
  if (!is_alone()) {
    own[0] = *memory_->OffsetOf(result);
    for (size_t i = 0; i < shared.size(); ++i) own[i + 1] = *memory_->OffsetOf(shared[i]);
  }
  const auto theirs =
      wire.Swap(Operation::kNodeReady, "all-reduce", std::as_writable_bytes(std::span(own)),
                other_mates_, /*watch_others=*/true);

  Views views{std::vector<float*>(whole_.leaf_count()), {}};
  size_t other = 0;
  for (const int mate : plan_.mates) {
    const auto rank = static_cast<size_t>(mate);
    const std::vector<size_t>& leaves = whole_.leaves[rank];
    if (rank == whole_.own) {
      for (size_t i = 0; i < leaves.size(); ++i) views.leaves[leaves[i]] = shared[i].data();
      views.results.push_back(result.data());
      continue;
    }
    std::memcpy(own.data(), theirs[other++].data(), own.size() * sizeof(uint64_t));
    PeerMemory& memory = *peers_[rank];
    // Maps all of them first: a call of At may move the address that an earlier call returned.
    for (size_t i = 0; i <= leaves.size(); ++i) memory.At(own[i], values.size());
    views.results.push_back(memory.At(own[0], values.size()));
    for (size_t i = 0; i < leaves.size(); ++i) {
      views.leaves[leaves[i]] = memory.At(own[i + 1], values.size());
    }
  }
  return views;
}

// Returns when every mate has called it.
void NodeReduction::Meet(Wire& wire, Operation operation, size_t count) {
  std::vector<Lane> lanes = wire.Lanes(operation, count, other_mates_);
  for (Lane& lane : lanes) {
    lane.in.OpenAll();
    lane.out.OpenAll();
  }
  wire.Run(lanes, "all-reduce", /*watch_others=*/true, [] {});
}

// Computes this rank's part of the node's sums. If the node has all ranks of the run, this is the
// result.
void NodeReduction::SumWithin(const Views& views, size_t count) const {
  const ElementRange part = PartOf(count, plan_.place, plan_.mates.size());
  for (size_t begin = part.begin; begin < part.end; begin += kBlockElements) {
    const ElementRange block{begin, std::min(begin + kBlockElements, part.end)};
    for (const Addition& addition : plan_.within) {
      AddInto(views.leaves[static_cast<size_t>(addition.into)] + begin,
              views.leaves[static_cast<size_t>(addition.from)] + begin, block.size());
    }
    if (plan_.one_node()) Spread(views, block, views.leaves[0]);
  }
}

void NodeReduction::SumAcross(Wire& wire, const Views& views, size_t count) {
  Meet(wire, Operation::kNodeSummed, count);
  if (!plan_.carries()) return;
  const ElementRange part = PartOf(count, plan_.place, plan_.carriers);
  std::vector<std::span<float>> sums;
  for (const size_t leaf : plan_.own_leaves) {
    sums.emplace_back(views.leaves[leaf] + part.begin, part.size());
  }
  std::vector<int> others;
  for (const int rank : plan_.counterparts) {
    if (rank != static_cast<int>(whole_.own)) others.push_back(rank);
  }
  std::vector<Lane> lanes = wire.LanesOfSequence(others);
  for (Lane& lane : lanes) {
    const auto found = std::find(plan_.counterparts.begin(), plan_.counterparts.end(), lane.rank);
    lane.place = static_cast<size_t>(found - plan_.counterparts.begin());
  }
  float* result = views.results[plan_.place];
  TreeExchange tree(plan_.across, ring_, lanes);
  wire.Announce(lanes, Operation::kTree, count);
  tree.Add({result + part.begin, part.size()}, std::move(sums));
  wire.Run(lanes, "all-reduce", /*watch_others=*/true, [&tree] { tree.Advance(); });
  Spread(views, part, result);
}

// Copies a range of a result to every mate.
void NodeReduction::Spread(const Views& views, ElementRange range, const float* from) const {
  for (float* result : views.results) {
    CopyInto({result + range.begin, range.size()}, {from + range.begin, range.size()});
  }
}

}  // namespace gp::engine
