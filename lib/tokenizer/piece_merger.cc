#include "tokenizer/piece_merger.h"

#include <algorithm>
#include <functional>

namespace gp {
namespace {

constexpr size_t kShortParts = 128;
constexpr int32_t kGone = -1;

}  // namespace

void PieceMerger::Merge(std::vector<int32_t>& parts) {
  if (parts.size() <= kShortParts) {
    MergeShort(parts);
  } else {
    MergeLong(parts);
  }
}

void PieceMerger::MergeShort(std::vector<int32_t>& parts) {
  joins_.clear();
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    joins_.push_back(pairs_.Find(parts[i], parts[i + 1]));
  }
  while (!joins_.empty()) {
    const auto least = std::min_element(joins_.begin(), joins_.end());
    if (*least == kNoJoin) return;
    const auto at = least - joins_.begin();
    const auto i = static_cast<size_t>(at);
    parts[i] = JoinedToken(*least);
    parts.erase(parts.begin() + at + 1);
    joins_.erase(least);
    if (i > 0) joins_[i - 1] = pairs_.Find(parts[i - 1], parts[i]);
    if (i < joins_.size()) joins_[i] = pairs_.Find(parts[i], parts[i + 1]);
  }
}

void PieceMerger::MergeLong(std::vector<int32_t>& parts) {
  const size_t end = parts.size();
  list_.clear();
  heap_.clear();
  for (size_t i = 0; i < end; ++i) list_.push_back({parts[i], i == 0 ? end : i - 1, i + 1});
  for (size_t i = 0; i < end; ++i) Propose(i);
  while (!heap_.empty()) {
    const Proposal proposal = heap_.front();
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    heap_.pop_back();
    Apply(proposal);
  }
  parts.clear();
  for (size_t i = 0; i < end; i = list_[i].next) parts.push_back(list_[i].token);
}

void PieceMerger::Propose(size_t left) {
  const size_t right = list_[left].next;
  if (right == list_.size()) return;
  const Join join = pairs_.Find(list_[left].token, list_[right].token);
  if (join == kNoJoin) return;
  heap_.push_back({join, left, list_[left].token, list_[right].token});
  std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
}

void PieceMerger::Apply(const Proposal& proposal) {
  Part& left = list_[proposal.left];
  const size_t end = list_.size();
  if (left.token != proposal.left_token || left.next == end) return;
  Part& right = list_[left.next];
  if (right.token != proposal.right_token) return;
  left.token = JoinedToken(proposal.join);
  right.token = kGone;
  left.next = right.next;
  if (left.next != end) list_[left.next].previous = proposal.left;
  if (left.previous != end) Propose(left.previous);
  Propose(proposal.left);
}

}  // namespace gp
