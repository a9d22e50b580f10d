// Exchange: moves bytes between this rank and its peers, in both directions and with all of them at
// once, until each lane has moved all its pieces. The caller decides which pieces may move: it is
// called after progress and opens more. A feed may add pieces while others move. One thread calls;
// severing a socket ends the exchange from outside.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "worker/engine/collectives/socket.h"

namespace gp::engine {

// Consecutive pieces of memory that pass through one direction of a connection. Pieces [0, open)
// may move.
struct PieceQueue {
  std::vector<std::span<std::byte>> pieces;  // none of them empty
  size_t open = 0;
  size_t next = 0;    // pieces [0, next) have moved entirely
  size_t offset = 0;  // bytes of pieces[next] that have moved
  // The first piece of the oldest collective that is not complete. A peer that has not sent it is
  // the first to be blamed for a timeout; kNever: this queue is never blamed first.
  size_t begin = 0;
  static constexpr size_t kNever = std::numeric_limits<size_t>::max();

  void Add(std::span<std::byte> piece) {
    if (!piece.empty()) pieces.push_back(piece);
  }
  void OpenAll() { open = pieces.size(); }
  bool done() const { return next == pieces.size(); }
  bool movable() const { return next < open; }
};

// One connection to a peer. A lane without pieces takes no part.
struct Lane {
  int rank = 0;
  size_t place = 0;  // among the participants of a tree exchange
  const Socket* socket = nullptr;
  PieceQueue out;
  PieceQueue in;
};

// A peer that has no lane in this exchange, but that other peers may wait for.
struct Bystander {
  int rank = 0;
  const Socket* socket = nullptr;
};

struct ExchangeLimits {
  // The longest wait without progress.
  std::chrono::milliseconds timeout{0};
  // The same after a bystander has disconnected: it has finished, or the exchange will never
  // continue.
  std::chrono::milliseconds bystander_grace{500};
};

// Adds pieces to the lanes of an exchange that runs.
class ExchangeFeed {
 public:
  virtual ~ExchangeFeed() = default;

  // Readable when AddReady has something to do.
  virtual int fd() const = 0;
  // Adds the pieces that are ready; does not wait.
  virtual void AddReady() = 0;
  // Called when all that was added has moved; may repeat until the next AddReady.
  virtual void Idle() = 0;
  // Nothing more will come.
  virtual bool ended() const = 0;
};

// Returns when every lane is done and `feed`, which may be null, has ended. `progressed` is called
// after bytes have moved. CollectiveError names the peer that was lost, or that moved nothing for
// too long while needed; `operation` begins the message.
void RunExchange(std::vector<Lane>& lanes, const std::vector<Bystander>& bystanders,
                 const ExchangeLimits& limits, const std::string& operation,
                 const std::function<void()>& progressed, ExchangeFeed* feed = nullptr);

}  // namespace gp::engine
