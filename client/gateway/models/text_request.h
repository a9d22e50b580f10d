// TextRequest: the texts that one client waits for, all from one model. FairQueue: those that no
// sampler has taken yet; whoever asks takes turns with the others, by what the texts cost. Used in
// the loop.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "contract/sampling_messages.h"
#include "http/api_error.h"
#include "http/event_loop.h"

namespace gp::gateway {

struct TextRequest {
  std::string asker;
  size_t count = 0;  // of texts
  // A text, made when its turn comes; the number is given later.
  std::function<link::Generate(size_t index)> text;
  // Tokens that a text reads and writes at most. Absent: all cost the same.
  std::function<int64_t(size_t index)> cost;
  std::function<void(size_t index, link::TextPiece piece)> piece;
  std::function<void(const http::ApiError& error)> failed;  // the last call

  // ---- the pool's
  uint64_t ticket = 0;
  size_t unfinished = 0;
  std::unique_ptr<http::Timer> deadline;
};

// Start-time fair queueing (Goyal, Vin, Cheng 1996): the next text is that of the asker whose texts
// have cost least so far. An asker with no waiting text is forgotten, and the virtual time moves on
// to what its texts have cost: an asker that comes back begins there, without credit for the time
// it was away.
class FairQueue {
 public:
  struct Waiting {
    std::shared_ptr<TextRequest> request;
    size_t index = 0;  // the text's
  };

  void Push(const std::shared_ptr<TextRequest>& request);
  // The first text of whoever's turn it is.
  std::optional<Waiting> Pop();
  void Remove(uint64_t ticket);
  // All of them, which then no longer wait.
  std::vector<std::shared_ptr<TextRequest>> Clear();

  // The request with this ticket; null when no text of it waits.
  std::shared_ptr<TextRequest> Find(uint64_t ticket) const;
  bool empty() const { return texts_.empty(); }
  size_t requests() const { return texts_.size(); }
  size_t requests_of(const std::string& asker) const;

 private:
  struct Lane {
    std::deque<Waiting> texts;  // at least one
    size_t requests = 0;        // that have a text here
    int64_t cost = 0;           // virtual time at which its next text starts
    uint64_t turn = 0;          // among lanes of one cost the lowest is next
  };
  using Lanes = std::map<std::string, Lane>;  // by asker
  // `texts` texts of `ticket` no longer wait. Erases the lane when no text of it is left.
  void Forget(Lanes::iterator entry, uint64_t ticket, size_t texts);

  Lanes lanes_;
  std::map<uint64_t, size_t> texts_;  // number of waiting texts by ticket
  int64_t cost_ = 0;                  // virtual time: a new lane starts here
  uint64_t turns_ = 0;
};

}  // namespace gp::gateway
