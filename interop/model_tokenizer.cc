#include "interop/model_tokenizer.h"

#include <utility>

#include "tokenizer/byte_pair_tokenizer.h"
#include "tokenizer/tokenizer_file.h"

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

StatusOr<std::shared_ptr<const Tokenizer>> TokenizerFor(const ModelSource& source) {
  if (source.tokenizer() != nullptr) return source.tokenizer();
  if (source.shape().vocabulary == kGpt2Ids) return Shared(BytePairTokenizer::InstalledGpt2());
  return InvalidArgument(
      "{} comes without a tokenizer, and {} ids are not GPT-2's: name one with "
      "--tokenizer",
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
  // The characters of the run's text may be others.
  if (name == "chars") return false;
  if (name == "bytes" || name == "gpt2") return tokenizer.kind() == name;
  const auto read = ReadTokenizer(name);
  return !read.ok() || (*read)->Fingerprint() == tokenizer.Fingerprint();
}

}  // namespace gp::interop
