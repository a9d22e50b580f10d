#include "worker/engine/collectives/tcp_communicator.h"

#include <algorithm>
#include <stdexcept>

namespace gp::engine {
namespace {

// Operations as they stand in a collective's header.
constexpr uint32_t kTree = 1;
constexpr uint32_t kMaximum = 2;
constexpr uint32_t kBroadcast = 3;

void Put(std::span<std::byte> out, uint64_t value) {
  for (std::byte& b : out) {
    b = static_cast<std::byte>(value);
    value >>= 8;
  }
}

}  // namespace

std::unique_ptr<TcpCommunicator> TcpCommunicator::Connect(const GroupOptions& options,
                                                          const TcpListener& listener,
                                                          const std::stop_token& stop) {
  return std::unique_ptr<TcpCommunicator>(
      new TcpCommunicator(options, ConnectTcpGroup(options, listener, stop)));
}

TcpCommunicator::TcpCommunicator(const GroupOptions& options, TcpGroup group)
    : plan_(options.logical_shards, static_cast<int>(options.addresses.size()), options.rank),
      timeout_(options.timeout),
      peers_(std::move(group.peers)),
      strangers_(group.strangers),
      headers_(peers_.size()) {}

// One lane per peer with the collective's header in both directions.
std::vector<Lane> TcpCommunicator::BeginLanes(uint32_t operation, size_t size) {
  ++sequence_;
  std::vector<Lane> lanes;
  for (int peer = 0; peer < plan_.world_size; ++peer) {
    if (peer == plan_.rank) continue;
    Headers& headers = headers_[static_cast<size_t>(peer)];
    const std::span<std::byte> sent = headers.sent;
    Put(sent.subspan(0, 4), operation);
    Put(sent.subspan(4, 4), 0);
    Put(sent.subspan(8, 8), sequence_);
    Put(sent.subspan(16, 8), size);
    Lane& lane = lanes.emplace_back();
    lane.rank = peer;
    lane.socket = &peers_[static_cast<size_t>(peer)];
    lane.out.Add(headers.sent);
    lane.in.Add(headers.received);
  }
  return lanes;
}

void TcpCommunicator::CheckHeaders(const std::vector<Lane>& lanes, const std::string& name) const {
  for (const Lane& lane : lanes) {
    const Headers& headers = headers_[static_cast<size_t>(lane.rank)];
    if (lane.in.next > 0 && headers.received != headers.sent) {
      throw CollectiveError(name + ": rank " + std::to_string(lane.rank) +
                            " is in another collective, or with another size");
    }
  }
}

void TcpCommunicator::Run(std::vector<Lane>& lanes, const std::string& name,
                          const std::function<void()>& progressed) {
  const std::string numbered = name + " " + std::to_string(sequence_);
  CheckNotAborted(numbered);
  try {
    RunExchange(lanes, timeout_, numbered, [&] {
      CheckHeaders(lanes, numbered);
      progressed();
    });
  } catch (const CollectiveError&) {
    CheckNotAborted(numbered);  // a severed connection looks like a lost peer
    throw;
  }
}

void TcpCommunicator::CheckNotAborted(const std::string& name) {
  std::lock_guard lock(mutex_);
  if (abort_reason_.empty()) return;
  throw CollectiveError(name + " was aborted: " + abort_reason_);
}

void TcpCommunicator::AllReduceTree(std::span<float> values,
                                    const std::vector<std::span<float>>& partials) {
  if (partials.size() != plan_.leaves_of(plan_.rank)) {
    throw std::logic_error("all-reduce: " + std::to_string(partials.size()) +
                           " partial sums, expected " +
                           std::to_string(plan_.leaves_of(plan_.rank)));
  }
  std::vector<Lane> lanes = BeginLanes(kTree, values.size());
  TreeExchange tree(plan_, values, partials, ring_, lanes);
  Run(lanes, "all-reduce", [&tree] { tree.Advance(); });
}

void TcpCommunicator::AllReduceMax(std::span<double> values) {
  std::vector<Lane> lanes = BeginLanes(kMaximum, values.size());
  const size_t count = values.size();
  std::vector<double> theirs(count * lanes.size());
  for (size_t i = 0; i < lanes.size(); ++i) {
    lanes[i].out.Add(std::as_writable_bytes(values));
    lanes[i].in.Add(std::as_writable_bytes(std::span(theirs).subspan(i * count, count)));
    lanes[i].out.OpenAll();
    lanes[i].in.OpenAll();
  }
  Run(lanes, "maximum", [] {});
  for (size_t i = 0; i < theirs.size(); ++i) {
    double& value = values[i % count];
    value = std::max(value, theirs[i]);
  }
}

void TcpCommunicator::Broadcast(std::span<std::byte> bytes, int root) {
  std::vector<Lane> lanes = BeginLanes(kBroadcast, bytes.size());
  if (plan_.rank != root) std::erase_if(lanes, [root](const Lane& l) { return l.rank != root; });
  for (Lane& lane : lanes) {
    // Headers pass both ways, so that the root notices a peer that is elsewhere.
    if (plan_.rank == root) {
      lane.out.Add(bytes);
    } else {
      lane.in.Add(bytes);
    }
    lane.out.OpenAll();
    lane.in.OpenAll();
  }
  Run(lanes, "broadcast", [] {});
}

void TcpCommunicator::Barrier() {
  double nothing = 0;
  AllReduceMax({&nothing, 1});
}

void TcpCommunicator::Abort(const std::string& reason) {
  {
    std::lock_guard lock(mutex_);
    if (abort_reason_.empty()) abort_reason_ = reason.empty() ? "no reason given" : reason;
  }
  for (const Socket& peer : peers_) {
    if (peer.valid()) peer.Sever();
  }
}

}  // namespace gp::engine
