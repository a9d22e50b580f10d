#include "client/gateway/models/text_request.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace gp::gateway {

void FairQueue::Push(const std::shared_ptr<TextRequest>& request) {
  if (request->count == 0) return;
  Lane& lane = lanes_[request->asker];
  if (lane.texts.empty()) {
    lane.cost = std::max(lane.cost, cost_);
    lane.turn = ++turns_;
  }
  for (size_t i = 0; i < request->count; ++i) lane.texts.push_back({request, i});
  ++lane.requests;
  texts_[request->ticket] = request->count;
}

std::optional<FairQueue::Waiting> FairQueue::Pop() {
  Lane* next = nullptr;
  for (auto& [asker, lane] : lanes_) {
    if (lane.texts.empty()) continue;
    if (next == nullptr || std::tie(lane.cost, lane.turn) < std::tie(next->cost, next->turn)) {
      next = &lane;
    }
  }
  if (next == nullptr) return std::nullopt;
  Waiting first = std::move(next->texts.front());
  next->texts.pop_front();
  Forget(*next, first.request->ticket, 1);
  cost_ = next->cost;
  next->cost += first.request->cost ? first.request->cost(first.index) : 1;
  next->turn = ++turns_;
  // Who has nothing here and is not ahead of the others begins anew.
  std::erase_if(lanes_, [&](const auto& entry) {
    return entry.second.texts.empty() && entry.second.cost <= cost_;
  });
  return first;
}

void FairQueue::Forget(Lane& lane, uint64_t ticket, size_t texts) {
  const auto left = texts_.find(ticket);
  left->second -= texts;
  if (left->second > 0) return;
  texts_.erase(left);
  --lane.requests;
}

void FairQueue::Remove(uint64_t ticket) {
  const auto waiting = texts_.find(ticket);
  if (waiting == texts_.end()) return;
  for (auto& [asker, lane] : lanes_) {
    const size_t removed = std::erase_if(
        lane.texts, [&](const Waiting& text) { return text.request->ticket == ticket; });
    if (removed > 0) return Forget(lane, ticket, removed);
  }
}

std::vector<std::shared_ptr<TextRequest>> FairQueue::Clear() {
  std::vector<std::shared_ptr<TextRequest>> requests;
  std::set<uint64_t> seen;
  for (const auto& [asker, lane] : lanes_) {
    for (const Waiting& waiting : lane.texts) {
      if (seen.insert(waiting.request->ticket).second) requests.push_back(waiting.request);
    }
  }
  lanes_.clear();
  texts_.clear();
  return requests;
}

std::shared_ptr<TextRequest> FairQueue::Find(uint64_t ticket) const {
  for (const auto& [asker, lane] : lanes_) {
    for (const Waiting& waiting : lane.texts) {
      if (waiting.request->ticket == ticket) return waiting.request;
    }
  }
  return nullptr;
}

size_t FairQueue::requests_of(const std::string& asker) const {
  const auto lane = lanes_.find(asker);
  return lane == lanes_.end() ? 0 : lane->second.requests;
}

}  // namespace gp::gateway
