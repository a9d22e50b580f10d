// TextRequest: the texts that one client waits for, all from one model. FairQueue: the texts that
// no sampler has taken yet; clients take turns by the cost of their texts. Used in the loop.
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
  size_t count = 0;  // number of texts
  // Makes a text when its turn comes. The pool sets its `request` number.
  std::function<link::Generate(size_t index)> text;
  // The most tokens that a text reads and writes. Absent: all texts cost the same.
  std::function<int64_t(size_t index)> cost;
  // The last piece of a text has `finish`.
  std::function<void(size_t index, link::TextPiece piece)> piece;
  std::function<void(const http::ApiError& error)> failed;  // at most once, as the last call

  // ---- set by the pool
  uint64_t ticket = 0;
  size_t unfinished = 0;
  std::unique_ptr<http::Timer> deadline;
};

// Start-time fair queueing (Goyal, Vin, Cheng 1996): the next text belongs to the client whose
// texts have cost least so far. A client without waiting texts is forgotten, and virtual time
// advances to its cost: when it returns it starts there, without credit for its absence.
class FairQueue {
 public:
  struct Waiting {
    std::shared_ptr<TextRequest> request;
    size_t index = 0;  // of the text in its request
  };

  void Push(const std::shared_ptr<TextRequest>& request);
  // The first text of the client whose turn it is.
  std::optional<Waiting> Pop();
  void Remove(uint64_t ticket);
  // Removes and returns all texts.
  std::vector<std::shared_ptr<TextRequest>> Clear();

  // The request with this ticket; null when no text of it waits.
  std::shared_ptr<TextRequest> Find(uint64_t ticket) const;
  bool empty() const { return texts_.empty(); }
  size_t requests() const { return texts_.size(); }
  size_t requests_of(const std::string& asker) const;

 private:
  struct Lane {
    std::deque<Waiting> texts;  // at least one
    size_t requests = 0;        // requests with a text here
    int64_t cost = 0;           // virtual time at which its next text starts
    uint64_t turn = 0;          // among lanes of equal cost, the lowest turn is next
  };
  using Lanes = std::map<std::string, Lane>;  // by client
  // Subtracts `texts` from the waiting texts of `ticket`. Erases the lane when it is empty.
  void Forget(Lanes::iterator entry, uint64_t ticket, size_t texts);

  Lanes lanes_;
  std::map<uint64_t, size_t> texts_;  // number of waiting texts by ticket
  int64_t cost_ = 0;                  // virtual time: a new lane starts here
  uint64_t turns_ = 0;
};

}  // namespace gp::gateway
