// Exchange: concurrent messages between a rank and its peers, like the sends and receives of one
// NCCL group. Messages between the same two ranks keep their order. Each message is preceded by a
// label, so that the receiver detects a peer that is in another operation. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "worker/engine/collectives/fake_nccl/clique.h"

namespace gp::fake_nccl {

// A peer is gone, or is in another operation. The message names it.
class ExchangeError : public std::runtime_error {
 public:
  ExchangeError(bool peer_is_gone, const std::string& what)
      : std::runtime_error(what), remote(peer_is_gone) {}

  const bool remote;
};

// Identifies the operation to which a message belongs.
struct Label {
  uint64_t operation = 0;
  // Number of the collective within its communicator; 0 for sends and receives.
  uint64_t number = 0;
  uint64_t bytes = 0;

  bool operator==(const Label&) const = default;
};

struct Message {
  int peer = 0;
  Label label;
  bool outgoing = false;
  std::span<std::byte> bytes;
};

class Exchange {
 public:
  Exchange(Clique& clique, const std::vector<Message>& messages);

  // Transfers what can be transferred now. True if anything was.
  bool Advance();
  bool done() const { return lanes_.empty(); }

  // Throws if a peer that is still needed is gone.
  void CheckPeers() const;

 private:
  // Messages in one direction; each message's bytes follow its label.
  struct Piece {
    std::span<std::byte> bytes;
    Label expected;
    bool is_label = false;
  };
  struct Lane {
    std::deque<Piece> pieces;
    std::deque<Label> labels;  // storage for the pieces that are labels
  };

  bool Advance(int peer, bool outgoing, Lane& lane);

  Clique& clique_;
  std::map<std::pair<int, bool>, Lane> lanes_;  // by peer and direction; finished lanes are removed
};

}  // namespace gp::fake_nccl
