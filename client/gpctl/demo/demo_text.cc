#include "client/gpctl/demo/demo_text.h"

#include <algorithm>
#include <unordered_set>

#include "base/file.h"
#include "formats/text_file.h"

namespace gp::gpctl {
namespace {

constexpr size_t kSizeBytesMin = 20'000;
constexpr size_t kSizeBytesMax = size_t{1} << 30;

bool IsWordLetter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '\''; }

std::vector<std::string> Words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : text) {
    if (IsWordLetter(c)) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!word.empty()) {
      words.push_back(std::move(word));
      word.clear();
    }
  }
  if (!word.empty()) words.push_back(std::move(word));
  return words;
}

}  // namespace

std::vector<std::string> DemoTextPlaces(const std::string& program_directory) {
  return {"/usr/share/doc/jargon-text/jargon.txt.gz", "/usr/share/doc/jargon-text/jargon.txt",
          JoinPath(program_directory, "../../../.deps/text/jargon.txt"),
          JoinPath(program_directory, "../share/gp/jargon.txt")};
}

StatusOr<std::string> FindDemoText(const std::vector<std::string>& candidates) {
  for (const std::string& path : candidates) {
    if (FileExists(path)) return path;
  }
  return NotFound(
      "no text to train on: install the Debian package jargon-text, or give a text file of your "
      "own with "
      "--text PATH");
}

StatusOr<std::string> ReadDemoText(const std::string& path) {
  if (!FileExists(path))
    return NotFound("{} does not exist; give a text file with --text PATH", path);
  ASSIGN_OR_RETURN(std::string text, formats::ReadTextFile(path, {}, kSizeBytesMax));
  if (text.size() < kSizeBytesMin) {
    return InvalidArgument("{} holds {} bytes; the demo needs at least {} to learn from", path,
                           text.size(), kSizeBytesMin);
  }
  return text;
}

WordShare CountKnownWords(std::string_view sample, std::string_view text) {
  const std::vector<std::string> known = Words(text);
  const std::unordered_set<std::string> vocabulary(known.begin(), known.end());
  std::vector<std::string> words = Words(sample);
  if (!sample.empty() && IsWordLetter(sample.back()) && !words.empty()) words.pop_back();
  const auto count = std::count_if(words.begin(), words.end(), [&](const std::string& word) {
    return vocabulary.contains(word);
  });
  return {words.size(), static_cast<size_t>(count)};
}

}  // namespace gp::gpctl
