#include "formats/likeness/array_form.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <unordered_map>
#include <vector>

namespace gp::formats {
namespace {

constexpr uint16_t kSignBit = 0x8000;

// The 2-byte words with the indices offset, offset + stride, …
std::vector<uint16_t> Column(std::string_view bytes, size_t offset, size_t stride) {
  std::vector<uint16_t> words;
  for (size_t at = 2 * offset; at + 2 <= bytes.size(); at += 2 * stride) {
    uint16_t word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    words.push_back(word);
  }
  return words;
}

double Ratio(size_t part, size_t all) {
  return static_cast<double>(part) / static_cast<double>(std::max<size_t>(all, 1));
}

// Counts over the uppermost words of floating-point numbers, which hold the sign, the exponent and
// the upper bits of the fraction.
struct Exponents {
  std::vector<size_t> positive, negative;  // by exponent
  size_t positives = 0, negatives = 0;
  std::array<size_t, 256> lower_bytes{};

  size_t all() const { return positives + negatives; }
};

Exponents CountExponents(const std::vector<uint16_t>& words, int fraction_bits) {
  const size_t size = size_t{1} << (15 - fraction_bits);
  Exponents count{.positive = std::vector<size_t>(size), .negative = std::vector<size_t>(size)};
  for (const uint16_t word : words) {
    const uint16_t magnitude = word & ~kSignBit;
    if (magnitude == 0) continue;
    const bool negative = (word & kSignBit) != 0;
    ++(negative ? count.negative : count.positive)[magnitude >> fraction_bits];
    ++(negative ? count.negatives : count.positives);
    ++count.lower_bytes[magnitude & 0xff];
  }
  return count;
}

// The largest share of the numbers that has one of six neighbouring exponents. Numbers of one kind
// have similar sizes.
double ShareOfSizes(const Exponents& count) {
  constexpr size_t kWindow = 6;
  size_t most = 0, sum = 0;
  for (size_t i = 0; i < count.positive.size(); ++i) {
    sum += count.positive[i] + count.negative[i];
    if (i >= kWindow) sum -= count.positive[i - kWindow] + count.negative[i - kWindow];
    most = std::max(most, sum);
  }
  return Ratio(most, count.all());
}

// How much the exponents of negative numbers differ from those of positive ones: 0 to 1.
double DifferenceOfSigns(const Exponents& count) {
  double difference = 0;
  for (size_t i = 0; i < count.positive.size(); ++i) {
    difference += std::abs(Ratio(count.positive[i], count.positives) -
                           Ratio(count.negative[i], count.negatives));
  }
  return difference / 2;
}

double EntropyOf(const std::array<size_t, 256>& counts, size_t all) {
  double bits = 0;
  for (const size_t count : counts) {
    if (count > 0) bits -= Ratio(count, all) * std::log2(Ratio(count, all));
  }
  return bits;
}

// Whether about half of the numbers are negative and have the same sizes as the positive ones.
// Token ids do not: no vocabulary has an upper half that mirrors its lower half.
bool AreSigned(const Exponents& count) {
  constexpr double kLeast = 0.35, kDifferenceMax = 0.25, kSizesMin = 0.75;
  const double negative = Ratio(count.negatives, count.all());
  return kLeast <= negative && negative <= 1 - kLeast && ShareOfSizes(count) >= kSizesMin &&
         DifferenceOfSigns(count) <= kDifferenceMax;
}

// Whether these are positive numbers, such as shares or loudness: below the peak, each exponent
// occurs about half as often as the next higher one.
bool AreUnsigned(const Exponents& count) {
  constexpr double kSizesMin = 0.75, kHalfMin = 0.3, kHalfMax = 0.75;
  constexpr size_t kNumbersMin = 4096, kExponentMin = 3;
  if (count.all() < kNumbersMin || count.negatives > 0) return false;
  if (ShareOfSizes(count) < kSizesMin) return false;
  const auto peak = static_cast<size_t>(
      std::max_element(count.positive.begin(), count.positive.end()) - count.positive.begin());
  if (peak < kExponentMin + 2) return false;
  // The peak itself may be cut off, as for numbers up to 1, so it is not compared.
  for (size_t i = peak - 1; i > peak - kExponentMin; --i) {
    const double half = Ratio(count.positive[i - 1], count.positive[i]);
    if (half < kHalfMin || half > kHalfMax) return false;
  }
  return true;
}

// Whether these are numbers of both signs, or negative ones: no text has so many ids above 32768
// together with lower bytes that are so evenly distributed.
bool AreBelowZeroToo(const Exponents& count) {
  constexpr double kBitsMin = 7.7, kSizesMin = 0.75, kNegativeMin = 0.02;
  constexpr size_t kNumbersMin = 4096;
  return count.all() >= kNumbersMin && Ratio(count.negatives, count.all()) >= kNegativeMin &&
         EntropyOf(count.lower_bytes, count.all()) >= kBitsMin && ShareOfSizes(count) >= kSizesMin;
}

// Whether all numbers are close to one value that is not 0, such as weights of a normalization. The
// ids of a text never stay in so narrow a band.
bool AreAlike(const std::vector<uint16_t>& words) {
  constexpr size_t kWordsMin = 1024;
  constexpr uint16_t kLeast = 1024, kBand = 768;
  if (words.size() < kWordsMin) return false;
  const auto [least, most] = std::minmax_element(words.begin(), words.end());
  return *least >= kLeast && *most - *least < kBand && *most - *least >= 4;
}

// Whether the bytes of `words` are evenly distributed. Ignores numbers that are 0 (their `upper`
// word is 0).
bool IsEven(const std::vector<uint16_t>& words, const std::vector<uint16_t>& upper) {
  constexpr double kBitsMin = 7.7;
  constexpr size_t kWordsMin = 1024;
  std::array<size_t, 256> lower_bytes{}, upper_bytes{};
  size_t all = 0;
  for (size_t i = 0; i < std::min(words.size(), upper.size()); ++i) {
    if (upper[i] == 0) continue;
    ++lower_bytes[words[i] & 0xff];
    ++upper_bytes[words[i] >> 8];
    ++all;
  }
  return all >= kWordsMin && EntropyOf(lower_bytes, all) >= kBitsMin &&
         EntropyOf(upper_bytes, all) >= kBitsMin;
}

using Counts = std::unordered_map<uint16_t, size_t>;

Counts CountWords(const std::vector<uint16_t>& words) {
  Counts counts;
  for (const uint16_t word : words) ++counts[word];
  return counts;
}

// How much the distributions of the words in two columns differ: 0 to 1.
double Difference(const Counts& a, size_t a_all, const Counts& b, size_t b_all) {
  double common = 0;
  for (const auto& [word, count] : a) {
    const auto found = b.find(word);
    if (found != b.end()) common += std::min(Ratio(count, a_all), Ratio(found->second, b_all));
  }
  return 1 - common;
}

struct FloatLayout {
  std::string_view name, numpy;
  size_t words;
  int fraction_bits;  // in the uppermost word
};

constexpr FloatLayout kLayouts[] = {{"float32", "<f4", 2, 7},
                                    {"float64", "<f8", 4, 4},
                                    {"float16", "<f2", 1, 10},
                                    {"bfloat16", "", 1, 7}};

bool AreFractions(std::string_view bytes, const FloatLayout& layout) {
  constexpr size_t kNumbersMin = 128;
  constexpr double kSizesMin = 0.75, kDifferenceMin = 0.78;
  const auto upper = Column(bytes, layout.words - 1, layout.words);
  const Exponents count = CountExponents(upper, layout.fraction_bits);
  if (count.all() < std::max(kNumbersMin, upper.size() / 4)) return false;
  if (AreSigned(count)) return true;
  if (layout.words == 1) {
    // The fractions are evenly distributed; the ids of a text never are.
    constexpr double kBitsMin = 6;
    const bool even = EntropyOf(count.lower_bytes, count.all()) >= kBitsMin;
    return (even && AreUnsigned(count)) || AreBelowZeroToo(count) || AreAlike(upper);
  }
  // In floating-point numbers, the word below continues the fraction, while ids have the same
  // distribution in every word.
  const auto below = Column(bytes, layout.words - 2, layout.words);
  if (ShareOfSizes(count) >= kSizesMin && IsEven(below, upper)) return true;
  return AreUnsigned(count) && Difference(CountWords(below), below.size(), CountWords(upper),
                                          upper.size()) >= kDifferenceMin;
}

float HalfToFloat(uint16_t half) {
  const int exponent = (half >> 10) & 31;
  const auto fraction = static_cast<float>(half & 1023);
  const float size =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return (half & kSignBit) != 0 ? -size : size;
}

template <typename Float>
double ReadNumber(const char* bytes) {
  Float number = 0;
  std::memcpy(&number, bytes, sizeof number);
  return static_cast<double>(number);
}

double NumberAt(const char* bytes, const FloatLayout& layout) {
  if (layout.words == 4) return ReadNumber<double>(bytes);
  if (layout.words == 2) return ReadNumber<float>(bytes);
  uint16_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return HalfToFloat(word);
}

// Whether these are ids that were converted to floating point, as pandas does for a column with
// gaps. Ids of an integer type that are read as floating point hardly ever give a whole number.
bool AreWhole(std::string_view bytes, const FloatLayout& layout) {
  constexpr double kLargest = 1 << 20, kWholeMin = 0.99;
  constexpr size_t kNumbersMin = 16;
  const size_t width = 2 * layout.words;
  size_t whole = 0, ones = 0, all = 0;
  for (size_t at = 0; at + width <= bytes.size(); at += width, ++all) {
    const double number = NumberAt(bytes.data() + at, layout);
    const bool is_whole = number >= 0 && number <= kLargest && number == std::floor(number);
    whole += is_whole ? 1 : 0;
    ones += is_whole && number >= 1 ? 1 : 0;
  }
  return all >= kNumbersMin && Ratio(whole, all) >= kWholeMin && 2 * ones >= all;
}

// The share of the words in column `a` that also occur in column `b`.
double ShareIn(const Counts& a, size_t a_all, const Counts& b) {
  size_t shared = 0;
  for (const auto& [word, count] : a) shared += b.contains(word) ? count : 0;
  return Ratio(shared, a_all);
}

// Whether the words are records with this many columns. The numbers in all columns of records begin
// at 0, so several columns have the same words, but seldom equally often. (Columns of a table
// within a text share no words: each has its own separators.)
bool AreColumns(std::string_view bytes, size_t columns) {
  constexpr double kSharedMostMin = 0.15, kAllShared = 0.9, kSomeShared = 0.0005, kDiffer = 0.95;
  const double shared_min = columns == 2 ? 0.005 : 0.05;
  const double difference_min = columns == 4 ? 0.93 : 0.78;
  std::vector<Counts> counts;
  size_t all = 0;
  for (size_t i = 0; i < columns; ++i) {
    const auto words = Column(bytes, i, columns);
    all = words.size();
    counts.push_back(CountWords(words));
  }
  for (size_t i = 0; i < columns; ++i) {
    for (size_t j = i + 1; j < columns; ++j) {
      const double difference = Difference(counts[i], all, counts[j], all);
      if (difference < difference_min || counts[i].size() == 1 || counts[j].size() == 1) continue;
      const double there = ShareIn(counts[i], all, counts[j]);
      const double here = ShareIn(counts[j], all, counts[i]);
      const auto [least, most] = std::minmax(there, here);
      if (least >= shared_min && most >= kSharedMostMin) return true;
      if (difference >= kDiffer && least >= kSomeShared && most >= kAllShared) return true;
    }
  }
  return false;
}

// Whether one of the columns holds floating-point numbers of both signs.
bool HasColumnOfFloats(std::string_view bytes, size_t columns) {
  constexpr size_t kNumbersMin = 256;
  for (size_t i = 0; i < columns; ++i) {
    const auto words = Column(bytes, i, columns);
    for (const int fraction_bits : {10, 7}) {
      const Exponents count = CountExponents(words, fraction_bits);
      if (count.all() >= std::max(kNumbersMin, words.size() / 4) && AreSigned(count)) return true;
    }
  }
  return false;
}

// Whether each token is stored with the next one: a b, b c, c d.
bool ArePairs(const std::vector<uint16_t>& words) {
  constexpr double kMost = 0.97, kLeast = 0.5;
  size_t inside = 0, between = 0, pairs = 0;
  for (size_t i = 0; i + 2 < words.size(); i += 2, ++pairs) {
    inside += words[i] == words[i + 1] ? 1 : 0;
    between += words[i + 1] == words[i + 2] ? 1 : 0;
  }
  const auto [least, most] = std::minmax(inside, between);
  return Ratio(most, pairs) >= kMost && Ratio(least, pairs) <= kLeast;
}

}  // namespace

std::optional<FloatForm> FloatsIn(std::string_view begin) {
  for (const FloatLayout& layout : kLayouts) {
    if (layout.numpy.empty()) continue;
    if (AreWhole(begin, layout)) return FloatForm{layout.name, layout.numpy, true};
  }
  for (const FloatLayout& layout : kLayouts) {
    if (AreFractions(begin, layout)) return FloatForm{layout.name, layout.numpy, false};
  }
  return std::nullopt;
}

std::optional<Records> RecordsIn(std::string_view begin) {
  constexpr size_t kWordsMin = 1024;
  const auto words = Column(begin, 0, 1);
  if (words.size() < kWordsMin) return std::nullopt;
  if (ArePairs(words)) return Records{RecordForm::kPairs, 2};
  for (const int columns : {2, 3, 4}) {
    const auto count = static_cast<size_t>(columns);
    if (AreColumns(begin, count) || HasColumnOfFloats(begin, count)) {
      return Records{RecordForm::kColumns, columns};
    }
  }
  return std::nullopt;
}

}  // namespace gp::formats
