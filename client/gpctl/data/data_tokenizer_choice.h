// The tokenizer named by a --tokenizer flag, without a run or a text to learn from. Reads the disk.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "tokenizer/tokenizer.h"

namespace gp::gpctl {

// "bytes", "gpt2", or the path of a tokenizer's file or folder (tokenizer/files/tokenizer_file.h),
// which may be relative to `working_directory`. InvalidArgument for "chars", which is made from the
// text of a run. `notes` as those of ReadTokenizer.
StatusOr<std::unique_ptr<Tokenizer>> ChooseTokenizer(const std::string& choice,
                                                     const std::string& working_directory,
                                                     std::vector<std::string>* notes = nullptr);

}  // namespace gp::gpctl
