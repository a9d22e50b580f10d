#include "client/gpctl/data/data_tokenizer_choice.h"

#include "base/file.h"
#include "tokenizer/data/data_tokenizer.h"
#include "tokenizer/files/tokenizer_file.h"

namespace gp::gpctl {

StatusOr<std::unique_ptr<Tokenizer>> ChooseTokenizer(const std::string& choice,
                                                     const std::string& working_directory,
                                                     std::vector<std::string>* notes) {
  if (choice == "bytes" || choice == "gpt2") return MakeTextTokenizer(choice, "");
  if (choice == "chars") {
    return InvalidArgument(
        "--tokenizer chars is built from the text of a run: train on it with data.text and "
        "data.tokenizer: chars, or use 'bytes'");
  }
  auto tokenizer = ReadTokenizer(AbsolutePath(choice, working_directory), notes);
  if (tokenizer.status().code() == StatusCode::kNotFound) {
    return NotFound("--tokenizer: {}; expected bytes, gpt2, or a tokenizer's file or folder",
                    Message(tokenizer.status()));
  }
  return tokenizer;
}

}  // namespace gp::gpctl
