#include "formats/likeness/token_form.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

namespace gp::formats {
namespace {

// The 2-byte little-endian words of `bytes`.
std::vector<uint16_t> WordsOf(std::string_view bytes) {
  std::vector<uint16_t> words(bytes.size() / 2);
  if (!words.empty()) std::memcpy(words.data(), bytes.data(), words.size() * 2);
  return words;
}

double Part(size_t count, size_t all) {
  return static_cast<double>(count) / static_cast<double>(std::max<size_t>(all, 1));
}

template <typename Predicate>
size_t CountIf(const std::vector<uint16_t>& words, Predicate is) {
  return static_cast<size_t>(std::count_if(words.begin(), words.end(), is));
}

bool AllAre(std::span<const uint16_t> words, uint16_t value) {
  return std::all_of(words.begin(), words.end(), [value](uint16_t w) { return w == value; });
}

// The numbers of a file, each made of several words, by kind. Leaves out numbers whose words are
// all 0 or all 0xffff, because they look the same in every width.
struct WideNumbers {
  std::vector<uint16_t> lower, upper;  // the two lowest words of each token id
  bool zero = false;                   // some numbers are 0
  size_t negative = 0;                 // such as -100, which masks a label
  size_t foreign = 0;                  // cannot be token ids
};

void AddNumber(std::span<const uint16_t> number, WideNumbers& numbers) {
  // The second word of a token id is at most this.
  constexpr uint16_t kUpperMax = 63;
  constexpr uint16_t kAllBits = 0xffff, kSignBit = 0x8000;
  if (AllAre(number, kAllBits)) return;
  if (AllAre(number, 0)) {
    numbers.zero = true;
  } else if (number[0] >= kSignBit && AllAre(number.subspan(1), kAllBits)) {
    ++numbers.negative;
  } else if (number[1] <= kUpperMax && AllAre(number.subspan(2), 0)) {
    numbers.lower.push_back(number[0]);
    numbers.upper.push_back(number[1]);
  } else {
    ++numbers.foreign;
  }
}

WideNumbers NumbersOf(const std::vector<uint16_t>& words, size_t width) {
  WideNumbers numbers;
  for (size_t at = 0; at + width <= words.size(); at += width) {
    AddNumber(std::span(words).subspan(at, width), numbers);
  }
  return numbers;
}

size_t DistinctCount(const std::vector<uint16_t>& words) {
  return std::unordered_set<uint16_t>(words.begin(), words.end()).size();
}

// The share of the lower words that are `least` or more.
double ShareFrom(uint16_t least, const WideNumbers& numbers) {
  const size_t count = CountIf(numbers.lower, [least](uint16_t word) { return word >= least; });
  return Part(count, numbers.lower.size());
}

// If upper words are not 0, the vocabulary has more than 65536 ids, so the lower words use all of
// their 16 bits. In a file of 2-byte character ids, blanks and newlines (ids 1 and 0) may look like
// upper words, but the lower words do not.
bool AreIdsOfALargeVocabulary(const WideNumbers& numbers) {
  constexpr size_t kDistinctMin = 8, kManyDistinct = 64;
  constexpr uint16_t kBeyondByte = 256, kLarge = 8192;
  constexpr double kBeyondByteMin = 0.3, kLargeMin = 0.02, kZeroMin = 0.2;
  // The largest vocabulary of a published model has 262,208 ids.
  constexpr uint16_t kUsualUpperMax = 4;
  const auto [least, most] = std::minmax_element(numbers.upper.begin(), numbers.upper.end());
  const size_t distinct = DistinctCount(numbers.lower);
  const bool many = ShareFrom(kBeyondByte, numbers) >= kBeyondByteMin;
  const bool wide = *least == *most ? many || distinct >= kManyDistinct
                                    : many && ShareFrom(kLarge, numbers) >= kLargeMin;
  const size_t zeros = CountIf(numbers.upper, [](uint16_t word) { return word == 0; });
  const bool usual = *most <= kUsualUpperMax || Part(zeros, numbers.upper.size()) > kZeroMin;
  return distinct >= kDistinctMin && wide && usual;
}

// Whether the lower words vary. A text of 2-byte tokens may have 0, or a single id, at every second
// place by chance; then the other tokens do not vary.
bool Vary(const WideNumbers& numbers, size_t width) {
  constexpr size_t kFew = 16;
  const size_t distinct = DistinctCount(numbers.lower) + (numbers.zero ? 1 : 0);
  return distinct >= (width == 2 && numbers.lower.size() < kFew ? 3 : 2);
}

bool AreTokens(const WideNumbers& numbers, size_t width) {
  constexpr size_t kNumbersMin = 4;
  constexpr double kForeignMax = 0.01;
  const size_t all = numbers.lower.size() + numbers.negative + numbers.foreign;
  if (all < kNumbersMin || Part(numbers.foreign, all) > kForeignMax) return false;
  if (numbers.negative > 0) return true;
  if (!Vary(numbers, width)) return false;
  return width > 2 || AllAre(numbers.upper, 0) || AreIdsOfALargeVocabulary(numbers);
}

std::optional<TokenForm> WiderForm(std::string_view bytes, bool big_endian) {
  const std::vector<uint16_t> words = WordsOf(bytes);
  for (const size_t width : {4, 2}) {
    const WideNumbers numbers = NumbersOf(words, width);
    if (!AreTokens(numbers, width)) continue;
    return TokenForm{static_cast<int>(2 * width), big_endian, numbers.negative > 0};
  }
  return std::nullopt;
}

int64_t Swapped(uint16_t word) { return (word & 0xff) << 8 | word >> 8; }

using ByteCounts = std::array<size_t, 256>;

// Counts the bytes at offset, offset + 2, …
ByteCounts CountBytes(std::string_view bytes, size_t offset) {
  ByteCounts counts{};
  for (size_t at = offset; at < bytes.size(); at += 2) {
    ++counts[static_cast<unsigned char>(bytes[at])];
  }
  return counts;
}

// The entropy of a byte, in bits.
double BitsOfByte(const ByteCounts& counts) {
  const size_t all = std::accumulate(counts.begin(), counts.end(), size_t{0});
  double bits = 0;
  for (const size_t count : counts) {
    if (count > 0) bits -= Part(count, all) * std::log2(Part(count, all));
  }
  return bits;
}

}  // namespace

std::optional<TokenForm> WiderTokens(std::string_view begin) {
  if (const auto form = WiderForm(begin, false)) return form;
  // Big-endian tokens, read from the back, are little-endian ones.
  const std::string_view whole = begin.substr(0, begin.size() / 8 * 8);
  return WiderForm(std::string(whole.rbegin(), whole.rend()), true);
}

bool LooksLikeOneByteTokens(std::string_view begin) {
  // 2-byte tokens use every value of the lower byte, unless there are so few ids that all upper
  // bytes are 0.
  constexpr size_t kIdsMax = 128, kBytesMin = 2048, kDistinctMin = 3;
  // Largest difference between the two byte counts that chance explains, as a share of one count.
  constexpr double kDifferenceMax = 0.5;
  if (begin.size() < kBytesMin) return false;
  const ByteCounts lower = CountBytes(begin, 0), upper = CountBytes(begin, 1);
  size_t difference = 0, distinct = 0;
  for (size_t byte = 0; byte < lower.size(); ++byte) {
    if (byte >= kIdsMax && lower[byte] + upper[byte] > 0) return false;
    difference += std::max(lower[byte], upper[byte]) - std::min(lower[byte], upper[byte]);
    distinct += upper[byte] > 0 ? 1 : 0;
  }
  return distinct >= kDistinctMin && Part(difference, begin.size() / 2) <= kDifferenceMax;
}

bool LooksByteSwapped(std::string_view begin, int64_t vocabulary) {
  // A quarter of GPT-2's tokens exceed its vocabulary when their bytes are swapped.
  constexpr double kBeyondMin = 0.1, kSwappedPart = 0.05;
  // For GPT-2's tokens of English, the entropies of lower and upper bytes differ by about 2.4 bits,
  // in short texts by 1.6.
  constexpr double kBitsMin = 1.5;
  constexpr size_t kWordsMin = 64;
  const std::vector<uint16_t> words = WordsOf(begin);
  if (words.size() < kWordsMin) return false;
  const size_t beyond = CountIf(words, [&](uint16_t word) { return word >= vocabulary; });
  const size_t swapped = CountIf(words, [&](uint16_t word) { return Swapped(word) >= vocabulary; });
  if (static_cast<double>(swapped) > kSwappedPart * static_cast<double>(beyond)) return false;
  return Part(beyond, words.size()) >= kBeyondMin ||
         BitsOfByte(CountBytes(begin, 1)) > BitsOfByte(CountBytes(begin, 0)) + kBitsMin;
}

}  // namespace gp::formats
