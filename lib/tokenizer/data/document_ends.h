// Strings that often end documents, such as <|endoftext|>. gp encodes them as ordinary text, so
// they are counted and reported as warnings, unless data.split_on names one as the end of
// documents. Pure functions; any thread may call.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "formats/spelled_ends.h"
#include "tokenizer/tokenizer.h"

namespace gp {

// <|endoftext|>, and the text of the tokenizer's own end-of-text token.
std::vector<std::string> DocumentEnds(const Tokenizer& tokenizer);

// How often `text` contains them, except `split_on`.
formats::SpelledEnds SpelledEndsOf(const Tokenizer& tokenizer, std::string_view text,
                                   std::string_view split_on);

// Warnings for a run whose data `key` contains them: data.text, data.stream.
std::vector<std::string> SpelledEndWarnings(const formats::SpelledEnds& ends, std::string_view key);

// Tokens of the documents between the strings `split_on`, each preceded by the end-of-text token;
// documents of only white space are left out. InvalidArgument when the tokenizer has no such token.
StatusOr<std::vector<int32_t>> EncodeDocuments(const Tokenizer& tokenizer, std::string_view text,
                                               std::string_view split_on, int threads);

}  // namespace gp
