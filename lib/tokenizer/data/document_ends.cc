#include "tokenizer/data/document_ends.h"

#include <utility>

#include "tokenizer/byte_pair_vocabulary.h"
#include "tokenizer/part_workers.h"

namespace gp {
namespace {

bool IsBlank(std::string_view text) {
  return text.find_first_not_of(" \t\n\v\f\r") == std::string_view::npos;
}

std::vector<std::string_view> DocumentsOf(std::string_view text, std::string_view split_on) {
  std::vector<std::string_view> documents;
  while (true) {
    const size_t end = text.find(split_on);
    if (!IsBlank(text.substr(0, end))) documents.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return documents;
    text.remove_prefix(end + split_on.size());
  }
}

}  // namespace

std::vector<std::string> DocumentEnds(const Tokenizer& tokenizer) {
  std::vector<std::string> ends = {kEndOfText};
  if (const auto id = tokenizer.end_of_text()) {
    std::string own = tokenizer.Decode({&*id, 1});
    if (!own.empty() && own != kEndOfText) ends.push_back(std::move(own));
  }
  return ends;
}

formats::SpelledEnds SpelledEndsOf(const Tokenizer& tokenizer, std::string_view text,
                                   std::string_view split_on) {
  formats::SpelledEnds spelled;
  for (const std::string& end : DocumentEnds(tokenizer)) {
    if (end != split_on) formats::CountSpelledEnds(text, end, spelled);
  }
  return spelled;
}

std::vector<std::string> SpelledEndWarnings(const formats::SpelledEnds& ends,
                                            std::string_view key) {
  std::vector<std::string> warnings;
  for (const formats::SpelledEnd& end : ends) {
    warnings.push_back(fmt::format(
        "{} contains {} {}, which the model learns as ordinary text; data.split_on: '{}' ends "
        "documents there",
        key, end.text, end.count == 1 ? "once" : fmt::format("{} times", end.count), end.text));
  }
  return warnings;
}

StatusOr<std::vector<int32_t>> EncodeDocuments(const Tokenizer& tokenizer, std::string_view text,
                                               std::string_view split_on, int threads) {
  const auto end_of_text = tokenizer.end_of_text();
  if (!end_of_text) {
    return InvalidArgument(
        "data.split_on: the tokenizer has no end-of-text token, so nothing would separate the "
        "documents; use another data.tokenizer, or leave data.split_on out");
  }
  const std::vector<std::string_view> documents = DocumentsOf(text, split_on);
  std::vector<StatusOr<std::vector<int32_t>>> encoded(documents.size(), std::vector<int32_t>());
  WorkOnParts(documents.size(), threads, [&](size_t document, size_t) {
    encoded[document] = tokenizer.Encode(documents[document]);
  });
  std::vector<int32_t> tokens;
  for (auto& document : encoded) {
    ASSIGN_OR_RETURN(const std::vector<int32_t> of_document, std::move(document));
    tokens.push_back(*end_of_text);
    tokens.insert(tokens.end(), of_document.begin(), of_document.end());
  }
  return tokens;
}

}  // namespace gp
