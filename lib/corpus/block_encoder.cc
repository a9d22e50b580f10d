#include "corpus/block_encoder.h"

#include <span>
#include <utility>

#include "base/check.h"
#include "corpus/document_splitter.h"
#include "tokenizer/data/document_ends.h"

namespace gp::corpus {
namespace {

using formats::EndOfTextPlacement;

// A document is encoded in parts of this size: 32-bit ids of all of it would take much memory.
constexpr size_t kPartBytes = 1 << 20;

template <int kTokenBytes>
void AppendTokens(std::span<const int32_t> tokens, std::string& bytes) {
  const size_t begin = bytes.size();
  bytes.resize(begin + tokens.size() * kTokenBytes);
  char* to = bytes.data() + begin;
  for (const int32_t token : tokens) {
    for (int i = 0; i < kTokenBytes; ++i) *to++ = static_cast<char>(token >> (8 * i));
  }
}

}  // namespace

BlockEncoder::BlockEncoder(const Tokenizer& tokenizer, EncodingRules rules)
    : tokenizer_(tokenizer), rules_(std::move(rules)), ends_(DocumentEnds(tokenizer)) {
  GP_CHECK(rules_.token_bytes == 2 || rules_.token_bytes == 4);
  GP_CHECK(tokenizer.vocabulary_size() <= 65536 || rules_.token_bytes == 4);
  GP_CHECK(rules_.placement == EndOfTextPlacement::kNone || tokenizer.end_of_text().has_value());
}

void BlockEncoder::AddEndOfText(EncodedBlock& encoded) const {
  const int32_t token[] = {*tokenizer_.end_of_text()};
  rules_.token_bytes == 2 ? AppendTokens<2>(token, encoded.tokens)
                          : AppendTokens<4>(token, encoded.tokens);
}

size_t BlockEncoder::CutAfter(std::string_view text, size_t begin) const {
  const size_t cut = tokenizer_.CutAfter(text, begin);
  for (const std::string& end : ends_) {
    // More text is needed to tell whether the string crosses the cut.
    if (cut + end.size() - 1 > text.size()) return text.size();
    const size_t from = cut < end.size() ? 0 : cut - end.size() + 1;
    const size_t at = text.substr(0, cut + end.size() - 1).find(end, from);
    if (at < cut) return CutAfter(text, at + end.size());
  }
  return cut;
}

Status BlockEncoder::AddText(std::string_view text, EncodedBlock& encoded) const {
  for (const std::string& end : ends_) formats::CountSpelledEnds(text, end, encoded.spelled_ends);
  while (!text.empty()) {
    const size_t cut =
        text.size() > kPartBytes ? tokenizer_.CutAfter(text, kPartBytes) : text.size();
    ASSIGN_OR_RETURN(const std::vector<int32_t> tokens, tokenizer_.Encode(text.substr(0, cut)));
    rules_.token_bytes == 2 ? AppendTokens<2>(tokens, encoded.tokens)
                            : AppendTokens<4>(tokens, encoded.tokens);
    text.remove_prefix(cut);
  }
  return OkStatus();
}

StatusOr<EncodedBlock> BlockEncoder::Encode(const Block& block, const Source& source) const {
  EncodedBlock encoded;
  encoded.tokens.reserve(block.text.size() / 2);
  const auto add = [&](const DocumentPart& part) -> Status {
    if (part.null) {
      ++encoded.null_lines;
      return OkStatus();
    }
    if (part.text.empty() && part.begins && part.ends) {
      ++encoded.empty_documents;
      return OkStatus();
    }
    const size_t before = encoded.tokens.size();
    if (part.begins && rules_.placement == EndOfTextPlacement::kBefore) AddEndOfText(encoded);
    if (const Status status = AddText(part.text, encoded); !status.ok()) {
      return WithContext(
          status, fmt::format("{}, at or after line {}", SourceName(source), block.begin.line));
    }
    if (part.ends && rules_.placement == EndOfTextPlacement::kAfter) AddEndOfText(encoded);
    const size_t bytes = encoded.tokens.size() - before;
    encoded.documents.push_back({static_cast<int64_t>(bytes) / rules_.token_bytes, part.begins});
    return OkStatus();
  };
  RETURN_IF_ERROR(SplitBlock(block, source, rules_.documents, add));
  return encoded;
}

}  // namespace gp::corpus
