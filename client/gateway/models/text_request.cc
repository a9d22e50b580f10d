#include "client/gateway/models/text_request.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace gp::gateway {

void FairQueue::Push(const std::shared_ptr<TextRequest>& request) {
  if (request->count == 0) return;
  const auto [entry, comes] = lanes_.try_emplace(request->asker);
  Lane& lane = entry->second;
  if (comes) {
    lane.cost = cost_;
    lane.turn = ++turns_;
  }
  for (size_t i = 0; i < request->count; ++i) lane.texts.push_back({request, i});
  ++lane.requests;
  texts_[request->ticket] = request->count;
}

std::optional<FairQueue::Waiting> FairQueue::Pop() {
  const auto before = [](const auto& a, const auto& b) {
    return std::tie(a.second.cost, a.second.turn) < std::tie(b.second.cost, b.second.turn);
  };
  const auto next = std::min_element(lanes_.begin(), lanes_.end(), before);
  if (next == lanes_.end()) return std::nullopt;
  Lane& lane = next->second;
  Waiting first = std::move(lane.texts.front());
  lane.texts.pop_front();
  cost_ = std::max(cost_, lane.cost);
  lane.cost += first.request->cost ? first.request->cost(first.index) : 1;
  lane.turn = ++turns_;
  Forget(next, first.request->ticket, 1);
  return first;
}

void FairQueue::Forget(Lanes::iterator entry, uint64_t ticket, size_t texts) {
  Lane& lane = entry->second;
  const auto left = texts_.find(ticket);
  left->second -= texts;
  if (left->second == 0) {
    texts_.erase(left);
    --lane.requests;
  }
  if (!lane.texts.empty()) return;
  cost_ = std::max(cost_, lane.cost);
  lanes_.erase(entry);
}

void FairQueue::Remove(uint64_t ticket) {
  if (!texts_.contains(ticket)) return;
  for (auto entry = lanes_.begin(); entry != lanes_.end(); ++entry) {
    const size_t removed = std::erase_if(
        entry->second.texts, [&](const Waiting& text) { return text.request->ticket == ticket; });
    if (removed > 0) return Forget(entry, ticket, removed);
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
