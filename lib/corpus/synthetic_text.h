// SyntheticText: text of made-up words, of any length, the same for the same seed: for tests,
// measurements and first runs without data. Word frequencies follow Zipf's law and each word has a
// few likely successors, so that a model has something to learn. Belongs to one thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gp::corpus {

class SyntheticText {
 public:
  explicit SyntheticText(uint64_t seed);

  // The next document: 1 to 6 paragraphs of one line each, from a few hundred bytes to about 10 KB
  // together.
  std::string NextDocument();

 private:
  uint64_t Draw();
  size_t DrawBelow(size_t range);
  size_t NextWord(size_t word);
  std::string MakeWord();
  void AddSentence(std::string& text);

  uint64_t state_;
  std::vector<std::string> words_;
};

}  // namespace gp::corpus
