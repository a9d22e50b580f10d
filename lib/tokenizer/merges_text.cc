#include "tokenizer/merges_text.h"

#include <algorithm>

#include "base/text/excerpt.h"
#include "tokenizer/byte_alphabet.h"

namespace gp {
namespace {

constexpr int64_t kBytes = 256;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

using AddPair = Status (BytePairVocabularyBuilder::*)(std::string_view left,
                                                      std::string_view right);

std::string_view TakeLine(std::string_view& text) {
  const size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

Status AddLine(std::string_view line, BytePairVocabularyBuilder& builder, AddPair add) {
  const size_t space = line.find(' ');
  if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos) {
    return InvalidArgument("is not two tokens with a space between");
  }
  return (builder.*add)(line.substr(0, space), line.substr(space + 1));
}

Status AddLines(std::string_view text, BytePairVocabularyBuilder& builder, AddPair add) {
  if (text.starts_with(kByteOrderMark)) {
    return InvalidArgument("line 1: begins with a byte order mark; save the file without it");
  }
  for (int line_number = 1; !text.empty(); ++line_number) {
    const std::string_view line = TakeLine(text);
    if (line.empty() || (line_number == 1 && line.starts_with("#version"))) continue;
    const Status status = AddLine(line, builder, add);
    if (status.ok()) continue;
    return InvalidArgument("line {}: the merge '{}' {}", line_number, Excerpt(line),
                           Message(status));
  }
  return OkStatus();
}

}  // namespace

Status AddMergeLines(std::string_view text, BytePairVocabularyBuilder& builder) {
  return AddLines(text, builder, &BytePairVocabularyBuilder::AddMerge);
}

StatusOr<BytePairVocabulary> ParseNumberedMerges(std::string_view text) {
  BytePairVocabularyBuilder builder(kBytes + std::count(text.begin(), text.end(), '\n') + 2);
  for (const unsigned char byte : AlphabetOrder()) {
    const char character = static_cast<char>(byte);
    RETURN_IF_ERROR(builder.AddToken({&character, 1}, builder.tokens()));
  }
  RETURN_IF_ERROR(AddLines(text, builder, &BytePairVocabularyBuilder::AddMergeAndToken));
  RETURN_IF_ERROR(builder.AddSpecial(kEndOfText, builder.tokens()));
  return builder.Finish();
}

std::string MergeLines(const BytePairVocabulary& vocabulary) {
  std::string text;
  for (const BytePairMerge& merge : vocabulary.merges) {
    text += InByteAlphabet(vocabulary.tokens[static_cast<size_t>(merge.left)]) + " " +
            InByteAlphabet(vocabulary.tokens[static_cast<size_t>(merge.right)]) + "\n";
  }
  return text;
}

}  // namespace gp
