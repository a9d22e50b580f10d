// The tokenizer that lies beside a model's weights. Functions of one thread each.
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

// The tokenizer that a model is used with when nobody names one: its own, or GPT-2's where the
// vocabulary has as many ids. InvalidArgument asks for a name. `notes` get a sentence for each
// contradiction between the model's files about what special tokens are for.
StatusOr<std::shared_ptr<const Tokenizer>> TokenizerFor(const ModelSource& source,
                                                        std::vector<std::string>& notes);

// Another `tokenizer`, with what the model's configuration says of special tokens, where it has
// one. `notes` as above.
StatusOr<std::shared_ptr<const Tokenizer>> TokenizerFor(const ModelSource& source,
                                                        std::unique_ptr<Tokenizer> tokenizer,
                                                        std::vector<std::string>& notes);

// The data.tokenizer of a run that goes on from the model at `path`: bytes, gpt2, or where the
// model's own `tokenizer` can be read from. Empty when there is none: it has no tokenizer (null)
// and not GPT-2's vocabulary, or keeps it in a form of its own.
std::string TokenizerName(const std::string& path, const runspec::ModelShape& shape,
                          const Tokenizer* tokenizer);

// Whether a run with this data.tokenizer has the tokens of `tokenizer`. True for a file that cannot
// be read, of which the run's own check tells more.
bool GivesTokensOf(const Tokenizer& tokenizer, const std::string& name);

}  // namespace gp::interop
