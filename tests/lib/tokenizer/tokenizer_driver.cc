// A program for tests that compare gp's tokenizers with other libraries.
//   tokenizer_driver encode TOKENIZER TEXT     writes the ids of a file as int32 to standard output
//   tokenizer_driver special TOKENIZER TEXT    the same, but recognises special tokens in the text
//   tokenizer_driver export TOKENIZER DIR      writes the tokenizer as Hugging Face files
// TOKENIZER is a path, bytes, gpt2, or chars:TEXT for the characters of the file TEXT.
#include <cstdio>
#include <string>

#include "base/file.h"
#include "tokenizer/byte_pair_tokenizer.h"
#include "tokenizer/data/data_tokenizer.h"
#include "tokenizer/files/hugging_face_tokenizer.h"
#include "tokenizer/files/tokenizer_file.h"

namespace gp {
namespace {

StatusOr<std::unique_ptr<Tokenizer>> Open(const std::string& name) {
  if (name == "bytes" || name == "gpt2") return MakeTextTokenizer(name, "");
  if (!name.starts_with("chars:")) return ReadTokenizer(name);
  ASSIGN_OR_RETURN(const std::string text, ReadFile(name.substr(6)));
  return MakeTextTokenizer("chars", text);
}

Status Encode(const Tokenizer& tokenizer, bool with_special, const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  ASSIGN_OR_RETURN(const std::vector<int32_t> tokens,
                   with_special ? tokenizer.EncodeWithSpecial(text) : tokenizer.Encode(text));
  const bool written =
      fwrite(tokens.data(), sizeof(int32_t), tokens.size(), stdout) == tokens.size();
  return written ? OkStatus() : DataLoss("standard output takes no more");
}

Status Export(const Tokenizer& tokenizer, const std::string& directory) {
  RETURN_IF_ERROR(MakeDirectories(directory));
  for (const auto& [name, text] : HuggingFaceTokenizerFiles(tokenizer)) {
    RETURN_IF_ERROR(WriteFileAtomically(JoinPath(directory, name), text));
  }
  return OkStatus();
}

Status Run(const std::string& verb, const std::string& name, const std::string& path) {
  ASSIGN_OR_RETURN(const auto tokenizer, Open(name));
  if (verb == "encode") return Encode(*tokenizer, false, path);
  if (verb == "special") return Encode(*tokenizer, true, path);
  if (verb == "export") return Export(*tokenizer, path);
  return InvalidArgument("expected encode, special or export, not {}", verb);
}

}  // namespace
}  // namespace gp

int main(int argc, char** argv) {
  const gp::Status status = argc == 4 ? gp::Run(argv[1], argv[2], argv[3])
                                      : gp::InvalidArgument("expected VERB TOKENIZER PATH");
  if (!status.ok()) fprintf(stderr, "%s\n", gp::Message(status).c_str());
  return status.ok() ? 0 : 1;
}
