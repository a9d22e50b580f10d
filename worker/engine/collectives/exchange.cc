#include "worker/engine/collectives/exchange.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "base/machine/progress.h"

namespace gp::engine {
namespace {

using std::chrono::milliseconds;

constexpr size_t kPiecesPerCall = 16;
// How long a wait for the feed may last, for which no peer is to blame.
constexpr milliseconds kFeedSlice{10000};

struct Gathered {
  std::array<iovec, kPiecesPerCall> entries;
  size_t count = 0;
};

Gathered GatherOpen(const PieceQueue& queue) {
  Gathered gathered;
  size_t offset = queue.offset;
  for (size_t i = queue.next; i < queue.open && gathered.count < kPiecesPerCall; ++i) {
    const std::span<std::byte> piece = queue.pieces[i].subspan(offset);
    gathered.entries[gathered.count++] = {piece.data(), piece.size()};
    offset = 0;
  }
  return gathered;
}

void Consume(PieceQueue& queue, size_t byte_count) {
  queue.offset += byte_count;
  while (queue.next < queue.pieces.size() && queue.offset >= queue.pieces[queue.next].size()) {
    queue.offset -= queue.pieces[queue.next++].size();
  }
}

[[noreturn]] void PeerLost(const std::string& operation, int rank, const std::string& how) {
  throw CollectiveError(operation + ": lost rank " + std::to_string(rank) + ": " + how);
}

// Moves what one call takes; true when something moved.
bool Move(const std::string& operation, const Lane& lane, PieceQueue& queue, bool sending) {
  Gathered gathered = GatherOpen(queue);
  const std::span<iovec> pieces(gathered.entries.data(), gathered.count);
  const Moved moved = sending ? lane.socket->Send(pieces) : lane.socket->Receive(pieces);
  if (!moved.lost.empty()) PeerLost(operation, lane.rank, moved.lost);
  Consume(queue, moved.bytes);
  return moved.bytes > 0;
}

// Whether bytes can be received that poll does not report, because TLS has already read them.
bool HoldsMore(const Lane& lane) { return lane.in.movable() && lane.socket->holds_more(); }

std::vector<pollfd> PollSet(const std::vector<Lane>& lanes) {
  std::vector<pollfd> set;
  for (const Lane& lane : lanes) {
    const bool active = !lane.in.done() || !lane.out.done();
    const int events = (lane.in.movable() ? POLLIN : 0) | (lane.out.movable() ? POLLOUT : 0);
    set.push_back({active ? lane.socket->fd() : -1, static_cast<short>(events), 0});
  }
  return set;
}

bool AllDone(const std::vector<Lane>& lanes) {
  return std::all_of(lanes.begin(), lanes.end(),
                     [](const Lane& lane) { return lane.in.done() && lane.out.done(); });
}

// The rank that must act next, or -1. First one that sent nothing at all, because the other peers
// wait for it, too.
int AwaitedRank(const std::vector<Lane>& lanes) {
  const auto rank_of = [&lanes](const auto& condition) {
    const auto found = std::find_if(lanes.begin(), lanes.end(), condition);
    return found == lanes.end() ? -1 : found->rank;
  };
  const int late =
      rank_of([](const Lane& lane) { return lane.in.next == lane.in.begin && lane.in.movable(); });
  if (late >= 0) return late;
  const int sender = rank_of([](const Lane& lane) { return lane.in.movable(); });
  return sender >= 0 ? sender : rank_of([](const Lane& lane) { return lane.out.movable(); });
}

[[noreturn]] void TimedOut(const std::vector<Lane>& lanes, milliseconds timeout,
                           const std::string& operation) {
  const std::string time = std::to_string(timeout.count()) + " ms";
  // First blames a peer that sent nothing at all, because the other peers wait for it.
  for (const Lane& lane : lanes) {
    if (lane.in.next == lane.in.begin && lane.in.movable()) {
      PeerLost(
          operation, lane.rank,
          "it did not arrive within " + time + "; is its process stopped or its machine stuck?");
    }
  }
  for (const Lane& lane : lanes) {
    if (lane.in.movable()) PeerLost(operation, lane.rank, "it sent nothing for " + time);
  }
  for (const Lane& lane : lanes) {
    if (lane.out.movable()) {
      PeerLost(operation, lane.rank, "it received nothing for " + time);
    }
  }
  throw CollectiveError(operation + ": no progress");
}

// One round over the lanes that poll found ready or that hold more; true when something moved.
bool MoveReady(std::vector<Lane>& lanes, const std::vector<pollfd>& set,
               const std::string& operation) {
  bool moved = false;
  for (size_t i = 0; i < lanes.size(); ++i) {
    const short ready = set[i].revents;
    const bool broken = (ready & (POLLERR | POLLHUP)) != 0;
    if (((ready & POLLIN) || broken || HoldsMore(lanes[i])) && lanes[i].in.movable()) {
      moved |= Move(operation, lanes[i], lanes[i].in, /*sending=*/false);
    }
    if (((ready & POLLOUT) || broken) && lanes[i].out.movable()) {
      moved |= Move(operation, lanes[i], lanes[i].out, /*sending=*/true);
    }
    if (broken && set[i].events == 0) PeerLost(operation, lanes[i].rank, "the connection broke");
  }
  return moved;
}

// Watches the bystanders, and notes the first one that has disconnected.
class Bystanders {
 public:
  explicit Bystanders(const std::vector<Bystander>& all) : all_(all) {}

  void AddTo(std::vector<pollfd>& set) const {
    if (gone_) return;
    for (const Bystander& one : all_) set.push_back({one.socket->fd(), POLLRDHUP, 0});
  }
  // `set` ends with the entries that AddTo added.
  void Look(const std::vector<pollfd>& set) {
    if (gone_) return;
    const size_t first = set.size() - all_.size();
    for (size_t i = 0; i < all_.size() && !gone_; ++i) {
      if (set[first + i].revents != 0) gone_ = &all_[i];
    }
  }
  const Bystander* gone() const { return gone_; }

 private:
  const std::vector<Bystander>& all_;
  const Bystander* gone_ = nullptr;
};

[[noreturn]] void NothingMoved(const std::vector<Lane>& lanes, const Bystanders& others,
                               milliseconds timeout, const std::string& operation) {
  if (others.gone()) PeerLost(operation, others.gone()->rank, "it closed the connection");
  TimedOut(lanes, timeout, operation);
}

int MillisecondsUntil(SteadyTime deadline) {
  const auto left = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::max<int64_t>(left.count(), 0));
}

// Waits like poll. While all lanes are `idle`, no peer is to blame.
int Await(std::vector<pollfd>& set, const std::vector<Lane>& lanes, int timeout_ms, bool idle) {
  std::optional<progress::Awaiting> waiting;
  if (!idle && timeout_ms != 0) waiting.emplace(progress::Wait::kPeer, AwaitedRank(lanes));
  return poll(set.data(), set.size(), timeout_ms);
}

}  // namespace

void RunExchange(std::vector<Lane>& lanes, const std::vector<Bystander>& bystanders,
                 const ExchangeLimits& limits, const std::string& operation,
                 const std::function<void()>& progressed, ExchangeFeed* feed) {
  Bystanders others(bystanders);
  const auto feeding = [feed] { return feed != nullptr && !feed->ended(); };
  const auto next_deadline = [&] {
    return std::chrono::steady_clock::now() +
           (others.gone() ? limits.bystander_grace : limits.timeout);
  };
  SteadyTime deadline = next_deadline();
  while (!AllDone(lanes) || feeding()) {
    const bool idle = AllDone(lanes);
    if (idle) feed->Idle();
    if (idle) deadline = std::chrono::steady_clock::now() + kFeedSlice;
    std::vector<pollfd> set = PollSet(lanes);
    set.push_back({feeding() ? feed->fd() : -1, POLLIN, 0});
    others.AddTo(set);
    const bool held = std::any_of(lanes.begin(), lanes.end(), HoldsMore);
    const int ready = Await(set, lanes, held ? 0 : MillisecondsUntil(deadline), idle);
    if (ready == 0 && !held && !idle) NothingMoved(lanes, others, limits.timeout, operation);
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) throw CollectiveError(operation + ": poll: " + std::strerror(errno));
    if ((set[lanes.size()].revents & POLLIN) != 0) feed->AddReady();
    if (idle) deadline = next_deadline();
    const bool had_gone = others.gone() != nullptr;
    others.Look(set);
    const bool moved = MoveReady(lanes, set, operation);
    if (moved || (others.gone() && !had_gone)) deadline = next_deadline();
    if (moved) progressed();
  }
}

}  // namespace gp::engine
