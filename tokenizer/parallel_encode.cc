#include "tokenizer/parallel_encode.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <functional>
#include <optional>
#include <system_error>
#include <thread>

namespace gp {
namespace {

std::vector<std::string_view> Parts(const Tokenizer& tokenizer, std::string_view text,
                                    size_t part_bytes) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t cut =
        part_bytes < text.size() ? tokenizer.CutAfter(text, part_bytes) : text.size();
    parts.push_back(text.substr(0, cut));
    text.remove_prefix(cut);
  }
  return parts;
}

using PartTokens = std::vector<std::optional<std::vector<int32_t>>>;

// The parts that are being encoded. Thread-safe.
class PartEncoding {
 public:
  PartEncoding(const Tokenizer& tokenizer, const std::vector<std::string_view>& parts)
      : tokenizer_(tokenizer), parts_(parts), tokens_(parts.size()) {}

  // Takes parts until none is left or a thread threw.
  void Work() noexcept {
    try {
      for (size_t i = next_++; i < parts_.size(); i = next_++) {
        auto encoded = tokenizer_.Encode(parts_[i]);
        if (encoded.ok()) tokens_[i] = std::move(*encoded);
      }
    } catch (...) {
      next_ = parts_.size();
      if (!threw_.exchange(true)) exception_ = std::current_exception();
    }
  }

  // The tokens of each part, nothing for one that cannot be encoded; or what a thread threw. Every
  // thread must have ended.
  PartTokens Take() {
    if (exception_) std::rethrow_exception(exception_);
    return std::move(tokens_);
  }

 private:
  const Tokenizer& tokenizer_;
  const std::vector<std::string_view>& parts_;
  PartTokens tokens_;  // each written by the thread that took it
  std::atomic<size_t> next_ = 0;
  std::atomic<bool> threw_ = false;
  std::exception_ptr exception_;  // of the first that threw
};

// Fewer where the system gives no more.
std::vector<std::jthread> StartThreads(int count, const std::function<void()>& work) {
  std::vector<std::jthread> threads;
  threads.reserve(static_cast<size_t>(count));
  try {
    while (std::ssize(threads) < count) threads.emplace_back(work);
  } catch (const std::system_error&) {
    return threads;
  }
  return threads;
}

PartTokens EncodeParts(const Tokenizer& tokenizer, const std::vector<std::string_view>& parts,
                       int threads) {
  PartEncoding encoding(tokenizer, parts);
  const int wanted = std::min(threads, static_cast<int>(std::min<size_t>(parts.size(), 256)));
  {
    const auto others = StartThreads(wanted - 1, [&encoding] { encoding.Work(); });
    encoding.Work();
  }
  return encoding.Take();
}

}  // namespace

StatusOr<std::vector<int32_t>> EncodeInParallel(const Tokenizer& tokenizer, std::string_view text,
                                                int threads, size_t part_bytes) {
  if (threads <= 1 || text.size() <= part_bytes) return tokenizer.Encode(text);
  auto parts = EncodeParts(tokenizer, Parts(tokenizer, text, part_bytes), threads);
  size_t count = 0;
  for (const auto& part : parts) {
    // Encoded whole, the text gives the error with the place in it.
    if (!part) return tokenizer.Encode(text);
    count += part->size();
  }
  std::vector<int32_t> tokens;
  tokens.reserve(count);
  for (auto& part : parts) {
    tokens.insert(tokens.end(), part->begin(), part->end());
    part.reset();
  }
  return tokens;
}

}  // namespace gp
