#include "client/gateway/models/text_request.h"

#include <algorithm>
#include <set>
#include <utility>

namespace gp::gateway {

void FairQueue::Push(const std::shared_ptr<TextRequest>& request) {
  if (request->texts.empty()) return;
  auto& lane = lanes_[request->asker];
  if (lane.empty()) turns_.push_back(request->asker);
  for (size_t i = 0; i < request->texts.size(); ++i) lane.push_back({request, i});
  texts_[request->ticket] = request->texts.size();
}

std::optional<FairQueue::Waiting> FairQueue::Pop() {
  if (turns_.empty()) return std::nullopt;
  const std::string asker = std::move(turns_.front());
  turns_.pop_front();
  auto& lane = lanes_[asker];
  Waiting first = std::move(lane.front());
  lane.pop_front();
  if (lane.empty()) {
    lanes_.erase(asker);
  } else {
    turns_.push_back(asker);
  }
  const auto left = texts_.find(first.request->ticket);
  if (--left->second == 0) texts_.erase(left);
  return first;
}

void FairQueue::Remove(uint64_t ticket) {
  if (texts_.erase(ticket) == 0) return;
  for (auto lane = lanes_.begin(); lane != lanes_.end();) {
    std::erase_if(lane->second,
                  [&](const Waiting& waiting) { return waiting.request->ticket == ticket; });
    if (lane->second.empty()) {
      std::erase(turns_, lane->first);
      lane = lanes_.erase(lane);
    } else {
      ++lane;
    }
  }
}

std::vector<std::shared_ptr<TextRequest>> FairQueue::Clear() {
  std::vector<std::shared_ptr<TextRequest>> requests;
  std::set<uint64_t> seen;
  for (const auto& [asker, lane] : lanes_) {
    for (const Waiting& waiting : lane) {
      if (seen.insert(waiting.request->ticket).second) requests.push_back(waiting.request);
    }
  }
  lanes_.clear();
  turns_.clear();
  texts_.clear();
  return requests;
}

}  // namespace gp::gateway
