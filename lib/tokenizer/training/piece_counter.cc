#include "tokenizer/training/piece_counter.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <utility>

#include "tokenizer/gpt2_splitter.h"
#include "tokenizer/part_workers.h"
#include "tokenizer/piece_key.h"

namespace gp {
namespace {

constexpr size_t kPartBytes = 1 << 20;
// The trainer numbers the places in the pieces with 32 bits.
constexpr uint64_t kDistinctBytesMax = uint64_t{1} << 31;

// The most documents that wait to be counted.
constexpr size_t kDocumentsMax = 1 << 20;

void CutIntoParts(std::string_view document, std::vector<std::string_view>& parts) {
  while (!document.empty()) {
    const size_t cut =
        kPartBytes < document.size() ? FindPieceStart(document, kPartBytes) : document.size();
    parts.push_back(document.substr(0, cut));
    document.remove_prefix(cut);
  }
}

std::string TextOf(const PieceKey& key) {
  const uint64_t words[2] = {key.low, key.high};
  std::string text(reinterpret_cast<const char*>(words), PieceKey::kBytesMax);
  text.resize(key.high >> 56);
  return text;
}

}  // namespace

// Nearly all pieces have at most 15 bytes; they are looked up without making a string.
class PieceCounter::Counts {
 public:
  void Count(std::string_view text) {
    while (!text.empty()) {
      const size_t readable = text.size();
      const std::string_view piece = TakePiece(text);
      if (piece.size() <= PieceKey::kBytesMax) {
        ++short_[KeyOf(piece, readable)];
      } else {
        ++long_[absl::string_view(piece.data(), piece.size())];
      }
    }
  }

  void Add(const Counts& other) {
    for (const auto& [key, count] : other.short_) short_[key] += count;
    for (const auto& [text, count] : other.long_) long_[text] += count;
  }

  std::vector<CountedPiece> Take() const {
    std::vector<CountedPiece> pieces;
    pieces.reserve(short_.size() + long_.size());
    for (const auto& [key, count] : short_) {
      if (key.high >> 56 > 1) pieces.push_back({TextOf(key), count});
    }
    for (const auto& [text, count] : long_) pieces.push_back({text, count});
    return pieces;
  }

 private:
  struct KeyHash {
    size_t operator()(const PieceKey& key) const {
      const uint64_t hash = key.Hash();
      return hash ^ hash >> 32;
    }
  };

  absl::flat_hash_map<PieceKey, int64_t, KeyHash> short_;
  absl::flat_hash_map<std::string, int64_t> long_;
};

PieceCounter::PieceCounter(int threads, size_t buffer_bytes) : buffer_bytes_(buffer_bytes) {
  for (int i = 0; i < std::max(threads, 1); ++i) counts_.push_back(std::make_unique<Counts>());
}

PieceCounter::~PieceCounter() = default;

void PieceCounter::Add(std::string_view text) {
  while (!text.empty()) {
    const size_t taken = std::min(text.size(), buffer_bytes_ - buffer_.size());
    buffer_ += text.substr(0, taken);
    text.remove_prefix(taken);
    if (buffer_.size() < buffer_bytes_) return;
    Count(ends_.empty() ? FindPieceStart(buffer_, buffer_bytes_ / 2) : ends_.back());
  }
}

void PieceCounter::EndDocument() {
  if (buffer_.size() > (ends_.empty() ? 0 : ends_.back())) ends_.push_back(buffer_.size());
  if (ends_.size() == kDocumentsMax) Count(buffer_.size());
}

// Counts the first `bytes` of the buffer, which hold all finished documents. Short documents are
// counted together, so that every thread has work.
void PieceCounter::Count(size_t bytes) {
  std::vector<std::string_view> parts;
  std::string_view rest = std::string_view(buffer_).substr(0, bytes);
  size_t begin = 0;
  for (const size_t end : ends_) {
    CutIntoParts(rest.substr(0, end - begin), parts);
    rest.remove_prefix(end - begin);
    begin = end;
  }
  CutIntoParts(rest, parts);
  WorkOnParts(parts.size(), static_cast<int>(counts_.size()),
              [&](size_t part, size_t worker) { counts_[worker]->Count(parts[part]); });
  buffer_.erase(0, bytes);
  ends_.clear();
}

StatusOr<std::vector<CountedPiece>> PieceCounter::Take() {
  Count(buffer_.size());
  for (size_t i = 1; i < counts_.size(); ++i) {
    counts_[0]->Add(*counts_[i]);
    counts_[i].reset();
  }
  counts_.resize(1);
  std::vector<CountedPiece> pieces = counts_[0]->Take();
  uint64_t bytes = 0;
  for (const CountedPiece& piece : pieces) bytes += piece.text.size() + 1;
  if (bytes > kDistinctBytesMax) {
    return MakeStatus(StatusCode::kResourceExhausted,
                      "the text has {} different words of {} bytes in total; the limit is {} "
                      "bytes; use a part of the text",
                      pieces.size(), bytes, kDistinctBytesMax);
  }
  std::sort(pieces.begin(), pieces.end(), [](const CountedPiece& a, const CountedPiece& b) {
    return a.count != b.count ? a.count > b.count : a.text < b.text;
  });
  return pieces;
}

}  // namespace gp
