#include "worker/engine/collectives/tcp_communicator.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <utility>

#include "worker/engine/collectives/node_group.h"
#include "worker/engine/collectives/tree_exchange.h"

namespace gp::engine {
namespace {

// 4 MiB: large, so that the fixed cost of a collective does not matter; small, so that the first
// pieces are sent early.
constexpr size_t kOverlapElements = size_t{1} << 20;

// Null when this rank shares no memory, or the system has no such memory.
std::unique_ptr<NodeMemory> MakeNodeMemory(const std::string& machine) {
  if (machine.empty()) return nullptr;
  try {
    return std::make_unique<NodeMemory>();
  } catch (const CollectiveError&) {
    return nullptr;  // TCP works without it
  }
}

// Hands each available part to `add`.
class PartsFeed final : public ExchangeFeed {
 public:
  PartsFeed(TreeParts& parts, std::function<void(TreePart)> add)
      : parts_(parts), add_(std::move(add)) {}

  int fd() const override { return parts_.fd(); }
  void AddReady() override {
    if (auto part = parts_.Take()) add_(std::move(*part));
  }
  void Idle() override { parts_.Idle(); }
  bool ended() const override { return parts_.ended(); }

 private:
  TreeParts& parts_;
  const std::function<void(TreePart)> add_;
};

}  // namespace

std::unique_ptr<TcpCommunicator> TcpCommunicator::Connect(const GroupOptions& options,
                                                          const TcpListener& listener,
                                                          const std::stop_token& stop) {
  return std::unique_ptr<TcpCommunicator>(
      new TcpCommunicator(options, ConnectTcpGroup(options, listener, stop), stop));
}

TcpCommunicator::TcpCommunicator(const GroupOptions& options, TcpGroup group,
                                 const std::stop_token& stop)
    : plan_(PlanOfRanks(options.logical_shards, static_cast<int>(options.addresses.size()),
                        options.rank)),
      strangers_(group.strangers),
      wire_(options.rank, std::move(group), options.connect_timeout) {
  if (size() > 1) JoinNode(options, stop);
  wire_.SetTimeout(options.timeout);
}

void TcpCommunicator::JoinNode(const GroupOptions& options, const std::stop_token& stop) {
  const std::stop_callback abort(stop, [this] { wire_.Abort("forming the group was aborted"); });
  auto memory = MakeNodeMemory(options.machine);
  NodeGroup nodes = FormNodes(options, wire_, memory.get(), stop);
  nodes_ = *std::max_element(nodes.node_of.begin(), nodes.node_of.end()) + 1;
  if (nodes_ == nodes.node_of.size()) return;
  reduction_ = std::make_unique<NodeReduction>(plan_, nodes.node_of, std::move(memory),
                                               std::move(nodes.peers));
}

std::span<float> TcpCommunicator::Allocate(size_t count) {
  return reduction_ ? reduction_->Allocate(count) : std::span<float>{};
}

size_t TcpCommunicator::overlap_elements() const { return nodes_ > 1 ? kOverlapElements : 0; }

void TcpCommunicator::AllReduceTree(std::span<float> values,
                                    const std::vector<std::span<float>>& partials) {
  CheckPartials(partials);
  wire_.BeginCollective();
  if (reduction_) {
    reduction_->Run(wire_, values, partials);
    return;
  }
  std::vector<Lane> lanes = wire_.LanesOfSequence(wire_.others());
  TreeExchange tree(plan_, ring_, lanes);
  wire_.Announce(lanes, Operation::kTree, values.size());
  tree.Add(values, partials);
  wire_.Run(lanes, "all-reduce", /*watch_others=*/false, [&tree] { tree.Advance(); });
}

void TcpCommunicator::AllReduceParts(TreeParts& parts) {
  // The ranks of a node synchronise before and after each part, so parts are not in flight
  // concurrently.
  if (reduction_) return Communicator::AllReduceParts(parts);
  std::vector<Lane> lanes = wire_.LanesOfSequence(wire_.others());
  TreeExchange tree(plan_, ring_, lanes);
  PartsFeed feed(parts, [&](TreePart part) {
    CheckPartials(part.partials);
    wire_.BeginCollective();
    wire_.Announce(lanes, Operation::kTree, part.values.size());
    tree.Add(part.values, std::move(part.partials));
  });
  wire_.Run(
      lanes, "all-reduce", /*watch_others=*/false, [&tree] { tree.Advance(); }, &feed);
}

void TcpCommunicator::CheckPartials(const std::vector<std::span<float>>& partials) const {
  const size_t expected = plan_.leaves[plan_.own].size();
  if (partials.size() == expected) return;
  throw std::logic_error("all-reduce: " + std::to_string(partials.size()) +
                         " partial sums, expected " + std::to_string(expected));
}

void TcpCommunicator::AllReduceMax(std::span<double> values) {
  wire_.BeginCollective();
  const auto theirs = wire_.Swap(Operation::kMaximum, "maximum", std::as_writable_bytes(values),
                                 wire_.others(), /*watch_others=*/false);
  for (const std::vector<std::byte>& bytes : theirs) {
    for (size_t i = 0; i < values.size(); ++i) {
      double other = 0;
      std::memcpy(&other, bytes.data() + i * sizeof(double), sizeof(double));
      values[i] = std::max(values[i], other);
    }
  }
}

void TcpCommunicator::Broadcast(std::span<std::byte> bytes, int root) {
  const bool is_root = rank() == root;
  Send(bytes, is_root, is_root ? wire_.others() : std::vector<int>{root}, "broadcast");
}

void TcpCommunicator::CopyTo(std::span<std::byte> bytes, int from, const std::vector<int>& to) {
  if (rank() == from) return Send(bytes, /*is_root=*/true, to, "copy");
  const bool receives = std::find(to.begin(), to.end(), rank()) != to.end();
  Send(bytes, /*is_root=*/false, receives ? std::vector<int>{from} : std::vector<int>(), "copy");
}

// From the root to each of `peers`, or from the only one of `peers` to this rank. Headers go in
// both directions, so that the root notices a peer in another collective.
void TcpCommunicator::Send(std::span<std::byte> bytes, bool is_root, const std::vector<int>& peers,
                           const char* name) {
  wire_.BeginCollective();
  std::vector<Lane> lanes = wire_.Lanes(Operation::kBroadcast, bytes.size(), peers);
  for (Lane& lane : lanes) {
    (is_root ? lane.out : lane.in).Add(bytes);
    lane.out.OpenAll();
    lane.in.OpenAll();
  }
  wire_.Run(lanes, name, /*watch_others=*/false, [] {});
}

void TcpCommunicator::Barrier() {
  double nothing = 0;
  AllReduceMax({&nothing, 1});
}

}  // namespace gp::engine
