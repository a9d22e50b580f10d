// Wire: the connections of one rank to all its peers, and the form of every message on them: a
// header that names its collective, then the collective's own bytes (docs/formats/collectives.md).
// Owned by a communicator; one thread calls, Abort may come from any.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "worker/engine/collectives/exchange.h"
#include "worker/engine/collectives/socket.h"
#include "worker/engine/collectives/tcp_group.h"

namespace gp::engine {

// The number of a message's operation in its header.
enum class Operation : uint32_t {
  kTree = 1,
  kMaximum = 2,
  kBroadcast = 3,
  kGather = 4,
  kNodeReady = 5,   // this rank's partial sums are where its node can read them
  kNodeSummed = 6,  // this rank's part of the node's sums is complete
  kNodeDone = 7,    // this rank has written its part of the result everywhere
};

class Wire {
 public:
  Wire(int rank, TcpGroup group, std::chrono::milliseconds timeout);

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(group_.peers.size()); }
  const std::vector<int>& others() const { return others_; }

  // Begins the next collective; it may call Run several times.
  void BeginCollective() { ++sequence_; }

  // One lane for each of `ranks`, in their order, with the header of `operation` in both
  // directions.
  std::vector<Lane> Lanes(Operation operation, size_t size, const std::vector<int>& ranks);

  // The same for a sequence of concurrent collectives: Announce adds the header of each, and is
  // called after BeginCollective. The lanes for results, which have no header, come last.
  std::vector<Lane> LanesOfSequence(const std::vector<int>& ranks);
  void Announce(std::span<Lane> lanes, Operation operation, size_t size);

  // Moves everything, including what `feed` adds. Watches peers without a lane if `watch_others`.
  // `progressed` is called after bytes have moved.
  void Run(std::vector<Lane>& lanes, const std::string& name, bool watch_others,
           const std::function<void()>& progressed, ExchangeFeed* feed = nullptr);

  // Sends `own` to each of `ranks` and returns what each of them sent, as many bytes.
  std::vector<std::vector<std::byte>> Swap(Operation operation, const std::string& name,
                                           std::span<std::byte> own, const std::vector<int>& ranks,
                                           bool watch_others);

  void SetTimeout(std::chrono::milliseconds timeout) { limits_.timeout = timeout; }

  void Abort(const std::string& reason);

 private:
  static constexpr size_t kHeaderBytes = 24;

  // The header of one collective, to and from one peer.
  struct Headers {
    std::array<std::byte, kHeaderBytes> sent{};
    std::array<std::byte, kHeaderBytes> received{};
    size_t place = 0;  // index among the arriving pieces
  };
  // The headers that one peer sent for one exchange, and how many of them are checked.
  struct Announced {
    std::deque<Headers> headers;
    size_t checked = 0;
  };

  Lane LaneTo(int rank, const std::vector<Socket>& sockets) const;
  bool IsMain(const Lane& lane) const;
  void CheckNotAborted(const std::string& name);
  void CheckHeaders(const std::vector<Lane>& lanes, const std::string& name);
  std::vector<Bystander> BystandersOf(const std::vector<Lane>& lanes) const;

  const int rank_;
  const TcpGroup group_;
  ExchangeLimits limits_;
  std::vector<int> others_;  // every rank but the own
  uint64_t sequence_ = 0;
  std::vector<Announced> announced_;  // by rank
  std::mutex mutex_;
  std::string abort_reason_;  // guarded by mutex_; empty until Abort
};

}  // namespace gp::engine
