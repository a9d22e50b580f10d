#include "interop/model_tokenizer.h"

#include <utility>

#include "base/file.h"
#include "tokenizer/byte_pair_tokenizer.h"
#include "tokenizer/files/companion_files.h"
#include "tokenizer/files/special_token_files.h"
#include "tokenizer/files/tokenizer_file.h"

namespace gp::interop {
namespace {

constexpr int64_t kGpt2Ids = 50257;

StatusOr<std::shared_ptr<const Tokenizer>> Shared(StatusOr<std::unique_ptr<Tokenizer>> tokenizer) {
  RETURN_IF_ERROR(tokenizer.status());
  return std::shared_ptr<const Tokenizer>(*std::move(tokenizer));
}

}  // namespace

StatusOr<std::shared_ptr<const Tokenizer>> TokenizerIn(const std::string& directory) {
  auto tokenizer = Shared(ReadTokenizer(directory));
  if (tokenizer.status().code() == StatusCode::kNotFound) {
    return std::shared_ptr<const Tokenizer>();
  }
  return tokenizer;
}

StatusOr<std::shared_ptr<const Tokenizer>> TokenizerFor(const ModelSource& source,
                                                        std::unique_ptr<Tokenizer> tokenizer,
                                                        std::vector<std::string>& notes) {
  ASSIGN_OR_RETURN(const CompanionFiles all, ReadCompanionFiles(JoinPath(source.path(), "")));
  const CompanionFiles of_model{.model_config = all.model_config,
                                .generation_config = all.generation_config};
  ASSIGN_OR_RETURN(const auto contradictions, ApplySpecialTokens(of_model, *tokenizer));
  notes.insert(notes.end(), contradictions.begin(), contradictions.end());
  return std::shared_ptr<const Tokenizer>(std::move(tokenizer));
}

StatusOr<std::shared_ptr<const Tokenizer>> TokenizerFor(const ModelSource& source,
                                                        std::vector<std::string>& notes) {
  if (source.tokenizer() != nullptr) {
    // Reads the tokenizer again, only for the notes. If that fails, there are no companion files.
    (void)ReadTokenizer(source.path(), &notes);
    return source.tokenizer();
  }
  if (source.shape().vocabulary == kGpt2Ids) {
    ASSIGN_OR_RETURN(auto gpt2, BytePairTokenizer::InstalledGpt2());
    return TokenizerFor(source, std::move(gpt2), notes);
  }
  return InvalidArgument(
      "{} has no tokenizer, and its vocabulary of {} ids is not GPT-2's; name one with --tokenizer",
      source.path(), source.shape().vocabulary);
}

std::string TokenizerName(const std::string& path, const runspec::ModelShape& shape,
                          const Tokenizer* tokenizer) {
  if (tokenizer == nullptr) return shape.vocabulary == kGpt2Ids ? "gpt2" : "";
  if (tokenizer->kind() == "bytes") return "bytes";
  const auto read = ReadTokenizer(path);
  if (read.ok() && (*read)->Fingerprint() == tokenizer->Fingerprint()) return path;
  return tokenizer->kind() == "gpt2" ? "gpt2" : "";
}

bool GivesTokensOf(const Tokenizer& tokenizer, const std::string& name) {
  // The run's text may have other characters.
  if (name == "chars") return false;
  if (name == "bytes" || name == "gpt2") return tokenizer.kind() == name;
  const auto read = ReadTokenizer(name);
  return !read.ok() || (*read)->Fingerprint() == tokenizer.Fingerprint();
}

}  // namespace gp::interop
