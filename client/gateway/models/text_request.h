// TextRequest: the texts that one client waits for, all from one model. FairQueue: those that no
// sampler has taken yet; whoever asks takes turns with the others. Used in the loop.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "http/api_error.h"
#include "http/event_loop.h"
#include "link/sampling_messages.h"

namespace gp::gateway {

struct TextRequest {
  std::string asker;
  std::vector<link::Generate> texts;  // their numbers are given later
  std::function<void(size_t index, link::TextPiece piece)> piece;
  std::function<void(const http::ApiError& error)> failed;  // the last call

  // ---- the pool's
  uint64_t ticket = 0;
  size_t unfinished = 0;
  std::unique_ptr<http::Timer> deadline;
};

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

  bool empty() const { return turns_.empty(); }
  size_t requests() const { return texts_.size(); }

 private:
  std::map<std::string, std::deque<Waiting>> lanes_;  // by asker
  std::deque<std::string> turns_;                     // askers with a lane, the next one first
  std::map<uint64_t, size_t> texts_;                  // waiting ones by ticket
};

}  // namespace gp::gateway
