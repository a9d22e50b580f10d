// The tokenizer beside a model's weights. Any thread may call.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "interop/model_source.h"
#include "tokenizer/tokenizer.h"

namespace gp::interop {

// Null when `directory` has no file of a tokenizer; an error names one that cannot be read.
StatusOr<std::shared_ptr<const Tokenizer>> TokenizerIn(const std::string& directory);

// The default tokenizer of a model: its own, or GPT-2's if the vocabulary has as many ids.
// InvalidArgument asks for a name. `notes` get a sentence for each contradiction between the
// model's files about special tokens.
StatusOr<std::shared_ptr<const Tokenizer>> TokenizerFor(const ModelSource& source,
                                                        std::vector<std::string>& notes);

// The given `tokenizer`, with the special tokens of the model's configuration, if it has any.
// `notes` as above.
StatusOr<std::shared_ptr<const Tokenizer>> TokenizerFor(const ModelSource& source,
                                                        std::unique_ptr<Tokenizer> tokenizer,
                                                        std::vector<std::string>& notes);

// The data.tokenizer of a run that starts from the model at `path`: bytes, gpt2, or the place of
// the model's own `tokenizer`. Empty when no value gives its tokenizer: the model has none (null)
// and a vocabulary of another size than GPT-2's, or has it in a form that data.tokenizer does not
// read.
std::string TokenizerName(const std::string& path, const runspec::ModelShape& shape,
                          const Tokenizer* tokenizer);

// Whether a run with this data.tokenizer gets the tokens of `tokenizer`. True for an unreadable
// file, which the run's own check reports.
bool GivesTokensOf(const Tokenizer& tokenizer, const std::string& name);

}  // namespace gp::interop
