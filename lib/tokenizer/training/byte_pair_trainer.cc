#include "tokenizer/training/byte_pair_trainer.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/token_table.h"

namespace gp {
namespace {

constexpr int64_t kTokensBetweenTellings = 64;

// The pieces as rows of tokens, which are joined in place. A cell holds the token that starts
// there; the last cell of a longer token holds its length, negated, to find the token before a
// place; cells in between are unused. Each piece ends with a cell without a token.
class PieceRows {
 public:
  explicit PieceRows(const std::vector<CountedPiece>& pieces) {
    cells_.push_back(kNoToken);
    for (const CountedPiece& piece : pieces) {
      if (counts_.empty() || counts_.back() != piece.count) {
        count_starts_.push_back(static_cast<uint32_t>(cells_.size()));
        counts_.push_back(piece.count);
      }
      for (const char byte : piece.text) {
        cells_.push_back(BytePlace(static_cast<unsigned char>(byte)));
      }
      cells_.push_back(kNoToken);
    }
  }

  static constexpr int32_t kNoToken = INT32_MIN;

  uint32_t size() const { return static_cast<uint32_t>(cells_.size()); }
  // The token that starts at a place; negative if none does.
  int32_t at(uint32_t place) const { return cells_[place]; }

  // Where the token before `place` starts; nullopt at a piece's front.
  std::optional<uint32_t> Before(uint32_t place) const {
    const int32_t last = cells_[place - 1];
    if (last == kNoToken) return std::nullopt;
    return last >= 0 ? place - 1 : place - static_cast<uint32_t>(-last);
  }

  // Replaces two tokens, the second of which starts at `second`, by one of `length` bytes.
  void Join(uint32_t first, uint32_t second, int32_t joined, uint32_t length) {
    cells_[second] = kInside;
    cells_[first + length - 1] = -static_cast<int32_t>(length);
    cells_[first] = joined;
  }

  // How often the piece around a place occurs.
  int64_t CountAt(uint32_t place) const {
    const auto after = std::upper_bound(count_starts_.begin(), count_starts_.end(), place);
    return counts_[static_cast<size_t>(after - count_starts_.begin()) - 1];
  }

 private:
  static constexpr int32_t kInside = INT32_MIN + 1;

  // The byte's token, numbered as in GPT-2.
  static int32_t BytePlace(unsigned char byte) {
    static const std::array<int32_t, 256> kPlaces = [] {
      std::array<int32_t, 256> places{};
      for (size_t i = 0; i < 256; ++i) places[AlphabetOrder()[i]] = static_cast<int32_t>(i);
      return places;
    }();
    return kPlaces[byte];
  }

  std::vector<int32_t> cells_;
  // Pieces are sorted by count: each distinct count, and where the pieces with it begin.
  std::vector<uint32_t> count_starts_;
  std::vector<int64_t> counts_;
};

class Trainer {
 public:
  Trainer(const std::vector<CountedPiece>& pieces, const BytePairTraining& training)
      : training_(training), rows_(pieces) {
    for (const unsigned char byte : AlphabetOrder()) {
      AddToken(std::string(1, static_cast<char>(byte)));
    }
    for (uint32_t place = 1; place < rows_.size(); ++place) {
      const int32_t right = rows_.at(place);
      if (right < 0 || rows_.at(place - 1) < 0) continue;
      Add(rows_.at(place - 1), right, place - 1, rows_.CountAt(place));
    }
    Propose();
  }

  StatusOr<BytePairVocabulary> Run() {
    while (tokens() + 1 < training_.vocabulary) {
      const auto best = TakeBest();
      if (!best) break;
      JoinEverywhere(*best);
      if (tokens() % kTokensBetweenTellings == 0 && training_.progress &&
          !training_.progress(tokens())) {
        return Cancelled("the training was interrupted");
      }
    }
    vocabulary_.special = {static_cast<int32_t>(tokens())};
    vocabulary_.tokens.emplace_back(kEndOfText);
    return std::move(vocabulary_);
  }

 private:
  struct Pair {
    int32_t left = 0;
    int32_t right = 0;
    int64_t count = 0;     // how often the two are neighbours now
    int64_t told_at = -1;  // the round of joins in which it was last proposed
    bool merged = false;   // already merged, and proposed again because a token was made twice
    std::vector<uint32_t> places;  // of the left token; some are no longer valid
  };
  struct Proposal {
    int64_t count = 0;  // when proposed
    size_t index = 0;
    uint64_t pair = 0;
    // The front of a heap is its largest element: here the most frequent pair and, among equally
    // frequent ones, the pair with the smaller ids.
    bool operator<(const Proposal& other) const {
      return count != other.count ? count < other.count : pair > other.pair;
    }
  };

  static uint64_t KeyOf(int32_t left, int32_t right) {
    return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
  }

  int64_t tokens() const { return std::ssize(vocabulary_.tokens); }
  uint32_t Length(int32_t token) const {
    return static_cast<uint32_t>(vocabulary_.tokens[static_cast<size_t>(token)].size());
  }

  // Two merges may make the same bytes, which are then one token.
  int32_t AddToken(const std::string& bytes) {
    const auto id = static_cast<int32_t>(tokens());
    if (!ids_.Add(bytes, id)) return ids_.Find(bytes);
    vocabulary_.tokens.push_back(bytes);
    return id;
  }

  void Add(int32_t left, int32_t right, uint32_t place, int64_t count) {
    const auto [found, is_new] = indices_.try_emplace(KeyOf(left, right), pairs_.size());
    if (is_new) pairs_.push_back({.left = left, .right = right});
    Pair& pair = pairs_[found->second];
    pair.count += count;
    pair.places.push_back(place);
    if (std::exchange(pair.told_at, round_) != round_) changed_.push_back(found->second);
  }

  void Remove(int32_t left, int32_t right, int64_t count) {
    pairs_[indices_.find(KeyOf(left, right))->second].count -= count;
  }

  void Push(size_t index) {
    const Pair& pair = pairs_[index];
    if (pair.count < training_.count_min) return;
    proposals_.push_back({pair.count, index, KeyOf(pair.left, pair.right)});
    std::push_heap(proposals_.begin(), proposals_.end());
  }

  // Proposes the pairs that have become more frequent.
  void Propose() {
    for (const size_t index : changed_) Push(index);
    changed_.clear();
  }

  // The index of the most frequent pair. A pair that has become less frequent since it was proposed
  // is proposed again with its current count.
  std::optional<size_t> TakeBest() {
    while (!proposals_.empty()) {
      const Proposal best = proposals_.front();
      std::pop_heap(proposals_.begin(), proposals_.end());
      proposals_.pop_back();
      if (pairs_[best.index].count == best.count) return best.index;
      Push(best.index);
    }
    return std::nullopt;
  }

  void JoinEverywhere(size_t index) {
    std::vector<uint32_t> places = std::move(pairs_[index].places);
    const int32_t left = pairs_[index].left, right = pairs_[index].right;
    // Joins from the front of each piece: of three equal neighbours the first two are joined.
    if (!std::is_sorted(places.begin(), places.end())) std::sort(places.begin(), places.end());
    const int32_t joined = AddToken(vocabulary_.tokens[static_cast<size_t>(left)] +
                                    vocabulary_.tokens[static_cast<size_t>(right)]);
    const BytePairMerge merge{left, right, joined};
    if (!std::exchange(pairs_[index].merged, true)) vocabulary_.merges.push_back(merge);
    ++round_;
    for (const uint32_t place : places) JoinAt(place, merge);
    pairs_[index].count = 0;
    Propose();
  }

  void JoinAt(uint32_t place, const BytePairMerge& merge) {
    if (rows_.at(place) != merge.left) return;
    const uint32_t second = place + Length(merge.left);
    if (rows_.at(second) != merge.right) return;
    const int64_t count = rows_.CountAt(place);
    const uint32_t length = Length(merge.joined);
    if (const auto before = rows_.Before(place)) {
      const int32_t neighbour = rows_.at(*before);
      Remove(neighbour, merge.left, count);
      Add(neighbour, merge.joined, *before, count);
    }
    if (const int32_t neighbour = rows_.at(place + length); neighbour >= 0) {
      Remove(merge.right, neighbour, count);
      Add(merge.joined, neighbour, place, count);
    }
    rows_.Join(place, second, merge.joined, length);
  }

  const BytePairTraining& training_;
  PieceRows rows_;
  BytePairVocabulary vocabulary_;
  TokenTable ids_;
  std::vector<Pair> pairs_;
  absl::flat_hash_map<uint64_t, size_t> indices_;  // of pairs_, by KeyOf
  int64_t round_ = 0;
  std::vector<size_t> changed_;      // changed in this round
  std::vector<Proposal> proposals_;  // a heap
};

}  // namespace

StatusOr<BytePairVocabulary> TrainBytePairs(const std::vector<CountedPiece>& pieces,
                                            const BytePairTraining& training) {
  GP_CHECK(training.vocabulary > 256, "a vocabulary of {}", training.vocabulary);
  return Trainer(pieces, training).Run();
}

}  // namespace gp
