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
  joined_.clear();
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    joined_.push_back(pairs_.Find(parts[i], parts[i + 1]));
  }
  while (!joined_.empty()) {
    const auto least = std::min_element(joined_.begin(), joined_.end());
    if (*least == PairTable::kNone) return;
    const auto at = least - joined_.begin();
    const auto i = static_cast<size_t>(at);
    parts[i] = *least;
    parts.erase(parts.begin() + at + 1);
    joined_.erase(least);
    if (i > 0) joined_[i - 1] = pairs_.Find(parts[i - 1], parts[i]);
    if (i < joined_.size()) joined_[i] = pairs_.Find(parts[i], parts[i + 1]);
  }
}

void PieceMerger::MergeLong(std::vector<int32_t>& parts) {
  const size_t end = parts.size();
  list_.clear();
  heap_.clear();
  for (size_t i = 0; i < end; ++i) list_.push_back({parts[i], i == 0 ? end : i - 1, i + 1});
  for (size_t i = 0; i < end; ++i) Propose(i);
  while (!heap_.empty()) {
    const Join join = heap_.front();
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    heap_.pop_back();
    Apply(join);
  }
  parts.clear();
  for (size_t i = 0; i < end; i = list_[i].next) parts.push_back(list_[i].token);
}

void PieceMerger::Propose(size_t left) {
  const size_t right = list_[left].next;
  if (right == list_.size()) return;
  const int32_t joined = pairs_.Find(list_[left].token, list_[right].token);
  if (joined == PairTable::kNone) return;
  heap_.push_back({joined, left, list_[left].token, list_[right].token});
  std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
}

void PieceMerger::Apply(const Join& join) {
  Part& left = list_[join.left];
  const size_t end = list_.size();
  if (left.token != join.left_token || left.next == end) return;
  Part& right = list_[left.next];
  if (right.token != join.right_token) return;
  left.token = join.joined;
  right.token = kGone;
  left.next = right.next;
  if (left.next != end) list_[left.next].previous = join.left;
  if (left.previous != end) Propose(left.previous);
  Propose(join.left);
}

}  // namespace gp
