#include "formats/likeness/array_form.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "lib/formats/token_bytes.h"

namespace gp::formats {
namespace {

constexpr size_t kNumbers = 16'000;

template <typename Float>
std::string FloatBytes(const std::vector<double>& numbers) {
  std::string bytes;
  for (const double number : numbers) {
    const auto value = static_cast<Float>(number);
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  return bytes;
}

uint32_t Bits(double number) {
  const auto value = static_cast<float>(number);
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

// Converts to fp16, rounding towards 0; numbers below 2^-14 become 0.
uint16_t Half(double number) {
  const uint32_t bits = Bits(number);
  const int exponent = static_cast<int>(bits >> 23 & 255) - 127 + 15;
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  if (exponent <= 0) return sign;
  return static_cast<uint16_t>(sign | exponent << 10 | (bits >> 13 & 1023));
}

std::vector<int64_t> Halves(const std::vector<double>& numbers) {
  std::vector<int64_t> words;
  for (const double number : numbers) words.push_back(Half(number));
  return words;
}

std::vector<int64_t> BrainFloats(const std::vector<double>& numbers) {
  std::vector<int64_t> words;
  for (const double number : numbers) words.push_back(Bits(number) >> 16);
  return words;
}

std::vector<double> Normal(double mean, double deviation) {
  std::minstd_rand random(3);
  std::normal_distribution<double> normal(mean, deviation);
  std::vector<double> numbers;
  for (size_t i = 0; i < kNumbers; ++i) numbers.push_back(normal(random));
  return numbers;
}

std::vector<double> Shares() {
  std::minstd_rand random(4);
  std::uniform_real_distribution<double> share(0, 1);
  std::vector<double> numbers;
  for (size_t i = 0; i < kNumbers; ++i) numbers.push_back(share(random));
  return numbers;
}

std::vector<double> Cut(std::vector<double> numbers) {
  for (double& number : numbers) number = std::max(number, 0.0);
  return numbers;
}

std::string NameOf(const std::string& bytes) {
  const auto form = FloatsIn(bytes);
  return form ? std::string(form->name) + (form->whole ? ", whole" : "") : "none";
}

// Token ids with word frequencies that follow Zipf's law; more of them than Tokens() returns.
std::vector<int64_t> ManyTokens(int64_t vocabulary) {
  std::minstd_rand random(9);
  std::uniform_real_distribution<double> share(0, 1);
  std::vector<int64_t> tokens;
  for (size_t i = 0; i < kNumbers; ++i) {
    const double ids = static_cast<double>(vocabulary), first = 60;
    tokens.push_back(static_cast<int64_t>(first * (std::pow(ids / first + 1, share(random)) - 1)));
  }
  return tokens;
}

TEST(FloatsIn, RecognisesNumbersOfEachType) {
  const struct {
    const char* what;
    std::vector<double> numbers;
  } cases[] = {{"weights", Normal(0, 0.02)},
               {"activations", Normal(0, 1)},
               {"gradients", Normal(0, 1e-3)},
               {"embeddings that are not centred", Normal(0.02, 0.1)},
               {"shares", Shares()},
               {"outputs of ReLU", Cut(Normal(0, 1))},
               {"weights of a normalization", Normal(1, 0.02)},
               {"loudness", Normal(-5, 1)}};
  for (const auto& [what, numbers] : cases) {
    EXPECT_EQ(NameOf(FloatBytes<double>(numbers)), "float64") << what;
    EXPECT_EQ(NameOf(FloatBytes<float>(numbers)), "float32") << what;
    EXPECT_EQ(NameOf(BytesOf<uint16_t>(Halves(numbers))), "float16") << what;
    EXPECT_NE(NameOf(BytesOf<uint16_t>(BrainFloats(numbers))), "none") << what;
  }
}

TEST(FloatsIn, RecognisesIdsThatBecameFloatingPointNumbers) {
  for (const int64_t vocabulary : {65, 512, 50257, 200'019}) {
    const std::vector<int64_t> tokens = ManyTokens(vocabulary);
    const std::vector<double> numbers(tokens.begin(), tokens.end());
    EXPECT_EQ(NameOf(FloatBytes<float>(numbers)), "float32, whole") << vocabulary;
    EXPECT_EQ(NameOf(FloatBytes<double>(numbers)), "float64, whole") << vocabulary;
  }
}

TEST(FloatsIn, TakesTokensForNone) {
  for (const int64_t vocabulary : {2, 4, 65, 256, 512, 1000, 8192, 32000, 50257, 65536}) {
    EXPECT_EQ(NameOf(BytesOf<uint16_t>(Tokens(vocabulary))), "none") << vocabulary;
    EXPECT_EQ(NameOf(BytesOf<uint16_t>(ManyTokens(vocabulary))), "none") << vocabulary;
  }
  EXPECT_EQ(NameOf(""), "none");
  EXPECT_EQ(NameOf("abc"), "none");
  EXPECT_EQ(NameOf(std::string(40'000, '\0')), "none");
}

// Codes of images and sounds are unordered and equally frequent.
TEST(FloatsIn, TakesEvenlyDistributedIdsForNone) {
  std::minstd_rand random(2);
  for (const int64_t vocabulary : {256, 1024, 8192, 16384, 50257}) {
    std::uniform_int_distribution<int64_t> any(0, vocabulary - 1);
    std::vector<int64_t> tokens;
    for (size_t i = 0; i < kNumbers; ++i) tokens.push_back(any(random));
    EXPECT_EQ(NameOf(BytesOf<uint16_t>(tokens)), "none") << vocabulary;
    EXPECT_EQ(RecordsIn(BytesOf<uint16_t>(tokens)), std::nullopt) << vocabulary;
  }
}

// Words from each column in turn.
std::string Interleaved(const std::vector<std::vector<int64_t>>& columns) {
  std::vector<int64_t> words;
  for (size_t i = 0; i < columns[0].size(); ++i) {
    for (const auto& column : columns) words.push_back(column[i]);
  }
  return BytesOf<uint16_t>(words);
}

std::vector<int64_t> Counting(int64_t period, int64_t each = 1) {
  std::vector<int64_t> words;
  for (size_t i = 0; i < kNumbers; ++i) words.push_back(static_cast<int64_t>(i) / each % period);
  return words;
}

TEST(RecordsIn, RecognisesColumnsBesideTokens) {
  constexpr Records kTwo{RecordForm::kColumns, 2};
  const auto tokens = ManyTokens(50257);
  EXPECT_EQ(RecordsIn(Interleaved({tokens, Counting(128)})), kTwo) << "positions";
  EXPECT_EQ(RecordsIn(Interleaved({tokens, Counting(90, 100)})), kTwo) << "documents";
  EXPECT_EQ(RecordsIn(Interleaved({Counting(2, 50), tokens})), kTwo) << "types";
  EXPECT_EQ(RecordsIn(Interleaved({tokens, Halves(Normal(0, 1))})), kTwo) << "weights";
  const auto three = RecordsIn(Interleaved({tokens, Counting(512), Counting(2, 50)}));
  EXPECT_EQ(three, (Records{RecordForm::kColumns, 3}));
}

TEST(RecordsIn, RecognisesTokensBesideTheNextOnes) {
  for (const int64_t vocabulary : {65, 512, 50257}) {
    const auto tokens = ManyTokens(vocabulary);
    std::vector<int64_t> next(tokens.begin() + 1, tokens.end());
    next.push_back(0);
    EXPECT_EQ(RecordsIn(Interleaved({tokens, next})), (Records{RecordForm::kPairs, 2}));
  }
}

TEST(RecordsIn, TakesTokensOfTextsForNone) {
  for (const int64_t vocabulary : {2, 4, 65, 256, 512, 8192, 50257, 65536}) {
    EXPECT_EQ(RecordsIn(BytesOf<uint16_t>(ManyTokens(vocabulary))), std::nullopt) << vocabulary;
  }
  const std::vector<int64_t> comma(kNumbers, 11), zeros(kNumbers, 0);
  EXPECT_EQ(RecordsIn(Interleaved({Counting(10), comma})), std::nullopt) << "a table";
  EXPECT_EQ(RecordsIn(BytesOf<uint16_t>(zeros)), std::nullopt) << "one id";
  auto notes = Tokens(88);
  for (int64_t& note : notes) note += 21;
  std::vector<int64_t> lengths;
  for (size_t i = 0; i < notes.size(); ++i) lengths.push_back(2 << i % 3);
  EXPECT_EQ(RecordsIn(Interleaved({notes, lengths})), std::nullopt) << "notes and their lengths";
}

}  // namespace
}  // namespace gp::formats
