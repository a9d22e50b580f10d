#include "client/gateway/models/checkpoint_facts.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "formats/checkpoint_directory.h"
#include "formats/sha256.h"
#include "plan/model_shape.h"
#include "storage/local_storage.h"

namespace gp::gateway {
namespace {

constexpr size_t kFingerprintDigits = 12;

// The digest of a file in the manifest; empty when the manifest does not have it.
std::string DigestOf(const formats::CheckpointManifest& manifest, std::string_view name) {
  for (const formats::CheckpointFile& file : manifest.files) {
    if (file.name == name) return file.digest;
  }
  return "";
}

// The fingerprint of the weights: equal for checkpoints with the same weights.
std::string FingerprintOf(const formats::CheckpointManifest& manifest) {
  std::string digest = DigestOf(manifest, formats::kModelName);
  if (digest.empty()) digest = formats::Sha256Hex(FormatManifest(manifest));
  return "fp_" + digest.substr(0, kFingerprintDigits);
}

size_t LongestToken(const Tokenizer& tokenizer) {
  size_t longest = 1;
  for (int32_t id = 0; id < tokenizer.vocabulary_size(); ++id) {
    longest = std::max(longest, tokenizer.Decode({&id, 1}).size());
  }
  return longest;
}

}  // namespace

int64_t CheckpointFacts::vocabulary() const {
  return std::min(tokenizer->vocabulary_size(), manifest.shape.vocabulary);
}

int32_t CheckpointFacts::first_token() const {
  const SpecialTokens& special = tokenizer->special_tokens();
  const bool untrained = manifest.step == 0 && manifest.record.imported_from;
  if (untrained && special.model_bos) return *special.model_bos;
  if (special.eos) return *special.eos;
  const auto line_break = tokenizer->Encode("\n");
  return line_break.ok() && !line_break->empty() ? line_break->front() : 0;
}

StatusOr<std::shared_ptr<const Tokenizer>> TokenizerCache::Get(const std::string& path,
                                                               const std::string& digest) {
  {
    MutexLock lock(mutex_);
    if (auto known = known_[digest].lock(); known && !digest.empty()) return known;
  }
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  auto parsed = ParseTokenizer(text);
  if (!parsed.ok()) return DataLoss("{}: {}", path, Message(parsed.status()));
  std::shared_ptr<const Tokenizer> tokenizer = *std::move(parsed);
  MutexLock lock(mutex_);
  known_[digest] = tokenizer;
  return tokenizer;
}

StatusOr<SharedFacts> ReadCheckpointFacts(const std::string& directory,
                                          TokenizerCache& tokenizers) {
  auto facts = std::make_shared<CheckpointFacts>();
  facts->directory = directory;
  ASSIGN_OR_RETURN(facts->manifest, formats::ReadManifest(LocalStorage(), directory));
  const std::string path = JoinPath(directory, formats::kTokenizerName);
  auto tokenizer = tokenizers.Get(path, DigestOf(facts->manifest, formats::kTokenizerName));
  if (tokenizer.status().code() == StatusCode::kNotFound) {
    return DataLoss("{}; the checkpoint is damaged", Message(tokenizer.status()));
  }
  ASSIGN_OR_RETURN(facts->tokenizer, std::move(tokenizer));
  facts->token_bytes_max = LongestToken(*facts->tokenizer);
  facts->fingerprint = FingerprintOf(facts->manifest);
  facts->parameters = runspec::ParameterCount(facts->manifest.shape);
  return SharedFacts(facts);
}

SharedFacts CheckpointShelf::Known(const std::string& directory) const {
  const auto found = known_.find(directory);
  return found == known_.end() ? nullptr : found->second;
}

void CheckpointShelf::Want(const std::string& directory, Done done) {
  if (const SharedFacts known = Known(directory)) return done(known);
  auto& waiting = waiting_[directory];
  waiting.push_back(std::move(done));
  if (waiting.size() > 1) return;
  auto facts = std::make_shared<StatusOr<SharedFacts>>(Unavailable("not read yet"));
  const auto tell = [this, facts, directory] {
    if (facts->ok()) known_[directory] = **facts;
    ++version_;
    const auto callers = std::move(waiting_[directory]);
    waiting_.erase(directory);
    for (const Done& caller : callers) caller(*facts);
  };
  const auto work = [facts, directory, tokenizers = tokenizers_] {
    *facts = ReadCheckpointFacts(directory, *tokenizers);
  };
  if (!pool_.Submit(work, tell)) {
    *facts = Unavailable("the gateway is busy");
    tell();
  }
}

void CheckpointShelf::Retain(const std::vector<std::string>& directories) {
  const std::set<std::string> kept(directories.begin(), directories.end());
  std::erase_if(known_, [&](const auto& entry) { return !kept.contains(entry.first); });
  ++version_;
}

}  // namespace gp::gateway
