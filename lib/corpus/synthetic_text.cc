#include "corpus/synthetic_text.h"

#include <cmath>
#include <string_view>

#include "base/mix_bits.h"

namespace gp::corpus {
namespace {

constexpr size_t kWords = 20'000;
constexpr size_t kFollowers = 12;

constexpr std::string_view kOnsets[] = {"b",  "br", "c",  "ch", "d",  "f", "fl", "g",
                                        "gr", "h",  "l",  "m",  "n",  "p", "pr", "r",
                                        "s",  "sh", "st", "t",  "th", "w"};
constexpr std::string_view kVowels[] = {"a", "e", "i", "o", "u", "ea", "ou", "ai"};
constexpr std::string_view kCodas[] = {"", "", "", "n", "r", "s", "t", "l", "nd", "rk", "st"};

// The random bits that choose the likely successor number `follower` of `word`. Undoes the
// kMixBitsStep that MixBits adds, so that a seed gives the same text in every version.
uint64_t FollowerBits(size_t word, size_t follower) {
  return MixBits(word * kFollowers + follower + 1 - kMixBitsStep);
}

}  // namespace

SyntheticText::SyntheticText(uint64_t seed) : state_(seed) {
  words_.reserve(kWords);
  while (words_.size() < kWords) words_.push_back(MakeWord());
}

uint64_t SyntheticText::Draw() {
  const uint64_t bits = MixBits(state_);
  state_ += kMixBitsStep;
  return bits;
}

size_t SyntheticText::DrawBelow(size_t range) { return static_cast<size_t>(Draw() % range); }

std::string SyntheticText::MakeWord() {
  // Frequent words, which come first, are short.
  const size_t syllables = 1 + DrawBelow(words_.size() < 200 ? 2 : 4);
  std::string word;
  for (size_t i = 0; i < syllables; ++i) {
    word += kOnsets[DrawBelow(std::size(kOnsets))];
    word += kVowels[DrawBelow(std::size(kVowels))];
    word += kCodas[DrawBelow(std::size(kCodas))];
  }
  return word;
}

// In two cases of three, one of the likely successors of `word`.
size_t SyntheticText::NextWord(size_t word) {
  uint64_t draw = Draw();
  if (DrawBelow(3) != 0) draw = FollowerBits(word, DrawBelow(kFollowers));
  // kWords to the power of a uniform number: the frequency of the n-th word is about proportional
  // to 1/n.
  const double uniform = static_cast<double>(draw >> 11) * 0x1p-53;
  return static_cast<size_t>(std::pow(static_cast<double>(kWords), uniform)) - 1;
}

void SyntheticText::AddSentence(std::string& text) {
  const size_t begin = text.size(), length = 4 + DrawBelow(16);
  size_t word = NextWord(DrawBelow(kWords));
  for (size_t i = 0; i < length; ++i) {
    if (i > 0) text += DrawBelow(12) == 0 ? ", " : " ";
    text += DrawBelow(60) == 0 ? std::to_string(DrawBelow(2000)) : words_[word];
    word = NextWord(word);
  }
  if (text[begin] >= 'a') text[begin] = static_cast<char>(text[begin] - 'a' + 'A');
  text += '.';
}

std::string SyntheticText::NextDocument() {
  std::string text;
  for (size_t paragraphs = 1 + DrawBelow(6); paragraphs > 0; --paragraphs) {
    for (size_t sentences = 3 + DrawBelow(12); sentences > 0; --sentences) {
      AddSentence(text);
      if (sentences > 1) text += ' ';
    }
    if (paragraphs > 1) text += '\n';
  }
  return text;
}

}  // namespace gp::corpus
