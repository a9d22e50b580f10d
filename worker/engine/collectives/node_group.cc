#include "worker/engine/collectives/node_group.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <utility>

#include "base/machine/progress.h"
#include "worker/engine/collectives/node_plan.h"
#include "worker/engine/collectives/node_socket.h"
#include "worker/engine/collectives/tcp_handshake.h"

namespace gp::engine {
namespace {

using std::chrono::milliseconds;

// Limit for all ranks of a node to call each other. A rank that cannot be reached costs this time
// once.
constexpr milliseconds kFormingTimeout{5000};
// A connection that sends nothing delays the others for this long.
constexpr milliseconds kVisitTimeout{1000};

// The first message of every rank to all others. Texts end with a zero.
struct Presence {
  std::array<char, 128> machine{};
  std::array<char, 32> socket{};  // begins with a zero byte, so socket_size is needed
  uint32_t socket_size = 0;
};

std::string MachineOf(const Presence& presence) {
  return {presence.machine.data(), strnlen(presence.machine.data(), presence.machine.size())};
}

std::string SocketOf(const Presence& presence) {
  return {presence.socket.data(), std::min<size_t>(presence.socket_size, presence.socket.size())};
}

// Every rank's value, in the order of the ranks.
template <typename T>
std::vector<T> Gather(Wire& wire, const std::string& name, T own) {
  wire.BeginCollective();
  const auto theirs = wire.Swap(Operation::kGather, name,
                                std::as_writable_bytes(std::span(&own, 1)), wire.others(), false);
  std::vector<T> all(static_cast<size_t>(wire.size()));
  all[static_cast<size_t>(wire.rank())] = own;
  for (size_t i = 0; i < theirs.size(); ++i) {
    std::memcpy(&all[static_cast<size_t>(wire.others()[i])], theirs[i].data(), sizeof(T));
  }
  return all;
}

Presence PresenceOf(const std::string& machine, const std::string& socket) {
  Presence presence;
  std::copy_n(machine.begin(), std::min(machine.size(), presence.machine.size()),
              presence.machine.begin());
  std::copy_n(socket.begin(), std::min(socket.size(), presence.socket.size()),
              presence.socket.begin());
  presence.socket_size = static_cast<uint32_t>(socket.size());
  return presence;
}

// Passes memory between this rank and the others on its machine.
class Forming {
 public:
  Forming(const GroupOptions& options, const NodeMemory* memory, const std::stop_token& stop)
      : options_(options),
        memory_(memory),
        stop_(stop),
        deadline_(std::chrono::steady_clock::now() + kFormingTimeout),
        peers_(options.addresses.size()) {}

  std::vector<std::optional<PeerMemory>> Meet(const NodeListener& listener,
                                              const std::vector<Presence>& all) {
    const progress::Awaiting waiting(progress::Wait::kPeer);
    const std::string machine = MachineOf(all[Place(options_.rank)]);
    if (machine.empty()) return std::move(peers_);
    for (int rank = 0; rank < options_.rank; ++rank) {
      if (MachineOf(all[Place(rank)]) == machine) Call(rank, SocketOf(all[Place(rank)]));
    }
    for (size_t rank = Place(options_.rank) + 1; rank < all.size(); ++rank) {
      if (MachineOf(all[rank]) == machine) ++missing_;
    }
    while (missing_ > 0 && std::chrono::steady_clock::now() < deadline_ &&
           !stop_.stop_requested()) {
      Receive(listener);
    }
    return std::move(peers_);
  }

 private:
  static size_t Place(int rank) { return static_cast<size_t>(rank); }

  void Call(int rank, const std::string& name) {
    const auto socket = ConnectToNode(name, deadline_, stop_);
    if (!socket) return;
    const auto greeting = EncodeGreeting(GreetingTo(options_, rank));
    if (!SendNodeMessage(*socket, greeting)) return;
    const auto challenge = NonceIn(ReceiveNodeMessage(*socket, deadline_, stop_));
    if (!challenge) return;
    const Proof proof = Prove(Side::kCaller, greeting, *challenge);
    if (!SendNodeMessage(*socket, proof, memory_->fd())) return;
    auto answer = ReceiveNodeMessage(*socket, deadline_, stop_);
    if (!answer || !IsProof(answer->bytes, Prove(Side::kCalled, greeting, *challenge))) return;
    SetPeer(rank, std::move(answer->file));
  }

  void Receive(const NodeListener& listener) {
    const auto visitor = listener.Accept(deadline_, stop_);
    if (!visitor) return;
    const SteadyTime patience =
        std::min(std::chrono::steady_clock::now() + kVisitTimeout, deadline_);
    const auto message = ReceiveNodeMessage(*visitor, patience, stop_);
    if (!message) return;
    const auto greeting = DecodeGreeting(message->bytes);
    if (!greeting || !IsMissingPeer(*greeting)) return;
    const Nonce challenge = RandomNonce();
    if (!SendNodeMessage(*visitor, challenge)) return;
    auto proof = ReceiveNodeMessage(*visitor, patience, stop_);
    if (!proof || !IsProof(proof->bytes, Prove(Side::kCaller, message->bytes, challenge))) return;
    const Proof answer = Prove(Side::kCalled, message->bytes, challenge);
    if (!SendNodeMessage(*visitor, answer, memory_->fd())) return;
    if (SetPeer(static_cast<int>(greeting->from_rank), std::move(proof->file))) --missing_;
  }

  // False when the peer sent no memory.
  bool SetPeer(int rank, Socket file) {
    if (!file.valid()) return false;
    peers_[Place(rank)].emplace(rank, std::move(file));
    return true;
  }

  Proof Prove(Side side, std::span<const std::byte> greeting, const Nonce& challenge) const {
    return ProofOf(side, options_.secret, greeting, challenge);
  }

  static std::optional<Nonce> NonceIn(const std::optional<NodeMessage>& message) {
    Nonce nonce;
    if (!message || message->bytes.size() != nonce.size()) return std::nullopt;
    std::copy(message->bytes.begin(), message->bytes.end(), nonce.begin());
    return nonce;
  }

  bool IsMissingPeer(const Greeting& greeting) const {
    return IsGreetingFor(options_, greeting) && !peers_[greeting.from_rank];
  }

  const GroupOptions& options_;
  const NodeMemory* memory_;
  const std::stop_token& stop_;
  const SteadyTime deadline_;
  std::vector<std::optional<PeerMemory>> peers_;
  int missing_ = 0;
};

// Row a lists whose memory rank a has mapped.
std::vector<std::vector<bool>> GatherReaches(Wire& wire,
                                             const std::vector<std::optional<PeerMemory>>& peers) {
  const auto ranks = peers.size();
  std::vector<std::byte> own(ranks);
  for (size_t rank = 0; rank < ranks; ++rank) own[rank] = std::byte{peers[rank].has_value()};
  wire.BeginCollective();
  const auto theirs = wire.Swap(Operation::kGather, "forming nodes", own, wire.others(), false);
  std::vector<std::vector<bool>> reaches(ranks, std::vector<bool>(ranks));
  const auto fill = [&](int rank, const std::vector<std::byte>& row) {
    for (size_t i = 0; i < ranks; ++i) {
      reaches[static_cast<size_t>(rank)][i] = row[i] != std::byte{0};
    }
  };
  fill(wire.rank(), own);
  for (size_t i = 0; i < theirs.size(); ++i) fill(wire.others()[i], theirs[i]);
  return reaches;
}

}  // namespace

std::string MachineIdentity() {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  std::array<char, 64> network{};
  const ssize_t size = readlink("/proc/self/ns/net", network.data(), network.size());
  if (boot.empty() || size <= 0) return "";
  return boot + " " + std::string(network.data(), static_cast<size_t>(size));
}

NodeGroup FormNodes(const GroupOptions& options, Wire& wire, const NodeMemory* memory,
                    const std::stop_token& stop) {
  const NodeListener listener;
  const std::string machine = memory == nullptr ? "" : options.machine;
  const auto all = Gather(wire, "forming nodes", PresenceOf(machine, listener.name()));
  NodeGroup group;
  group.peers = Forming(options, memory, stop).Meet(listener, all);
  group.node_of = NodesOf(GatherReaches(wire, group.peers));
  const size_t own_node = group.node_of[static_cast<size_t>(options.rank)];
  for (size_t rank = 0; rank < group.peers.size(); ++rank) {
    if (group.node_of[rank] != own_node) group.peers[rank].reset();
  }
  return group;
}

}  // namespace gp::engine
