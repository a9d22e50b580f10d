#include "corpus/document_splitter.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "corpus/json_line.h"
#include "corpus/line.h"

namespace gp::corpus {
namespace {

// The document of a JSON line whose field has the value `text`; nullopt: the field is null.
StatusOr<DocumentPart> DocumentOf(const std::optional<std::string_view>& text,
                                  const DocumentRules& rules) {
  if (text) return DocumentPart{.text = *text};
  if (rules.skip_null) return DocumentPart{.null = true};
  return InvalidArgument(
      "field '{}' is null, expected a string; gpctl data prepare --skip-null leaves such lines out "
      "and counts them",
      rules.field);
}

// Passes the parts of `document` between the occurrences of `split_on` to `take`.
Status EmitParts(const DocumentPart& document, const std::string& split_on,
                 const DocumentSink& take) {
  if (split_on.empty() || document.null) return take(document);
  std::string_view rest = document.text;
  bool begins = document.begins;
  while (true) {
    const size_t end = rest.find(split_on);
    const bool ends = end != std::string_view::npos || document.ends;
    DocumentPart part{.text = rest.substr(0, end), .begins = begins, .ends = ends};
    if (begins && ends && IsBlank(part.text)) part.text = {};
    RETURN_IF_ERROR(take(part));
    if (end == std::string_view::npos) return OkStatus();
    rest.remove_prefix(end + split_on.size());
    if (rest.empty()) return OkStatus();
    begins = true;
  }
}

Status SplitJsonLines(const Block& block, const Source& source, const DocumentRules& rules,
                      const DocumentSink& take) {
  JsonLineReader reader(rules.field, rules.field_key);
  const std::string padded = block.text + std::string(JsonLineReader::kPaddingBytes, '\0');
  std::string_view rest = std::string_view(padded).substr(0, block.text.size());
  for (int64_t number = block.begin.line; !rest.empty(); ++number) {
    const uint64_t offset = block.end.offset - rest.size();
    const std::string_view line = WithoutLineEnd(TakeLine(rest));
    if (IsBlankLine(line)) continue;
    const auto text = reader.Read(line);
    const auto document = text.ok() ? DocumentOf(*text, rules) : text.status();
    if (!document.ok()) {
      return InvalidArgument("{}:{}: {} (byte {} of the text)", SourceName(source), number,
                             Message(document.status()), offset);
    }
    RETURN_IF_ERROR(EmitParts(*document, rules.split_on, take));
  }
  return OkStatus();
}

Status SplitLines(const Block& block, const DocumentSink& take) {
  std::string_view rest = block.text;
  bool begins = !block.begin.inside_document;
  while (!rest.empty()) {
    const std::string_view line = TakeLine(rest);
    const bool ends = !rest.empty() || !block.end.inside_document;
    if (!begins || !ends || !IsBlankLine(line)) {
      RETURN_IF_ERROR(
          take({.text = ends ? WithoutLineEnd(line) : line, .begins = begins, .ends = ends}));
    }
    begins = true;
  }
  return OkStatus();
}

// The end of the paragraph at the start of `text`, before the blank line after it. `at_line_start`:
// `text` begins at the start of a line.
size_t ParagraphEnd(std::string_view text, bool at_line_start) {
  std::string_view rest = text;
  if (!at_line_start) TakeLine(rest);
  while (!rest.empty()) {
    const size_t begin = text.size() - rest.size();
    if (IsBlankLine(TakeLine(rest))) return begin;
  }
  return text.size();
}

void PassBlankLines(std::string_view& text) {
  while (!text.empty()) {
    std::string_view rest = text;
    if (!IsBlankLine(TakeLine(rest))) return;
    text = rest;
  }
}

Status SplitParagraphs(const Block& block, const DocumentSink& take) {
  std::string_view rest = block.text;
  bool begins = !block.begin.inside_document;
  if (begins) PassBlankLines(rest);
  while (!rest.empty()) {
    const std::string_view paragraph = rest.substr(0, ParagraphEnd(rest, begins));
    rest.remove_prefix(paragraph.size());
    PassBlankLines(rest);
    const bool ends = !rest.empty() || !block.end.inside_document;
    RETURN_IF_ERROR(take(
        {.text = ends ? WithoutLineEnd(paragraph) : paragraph, .begins = begins, .ends = ends}));
    begins = true;
  }
  return OkStatus();
}

}  // namespace

Status SplitBlock(const Block& block, const Source& source, const DocumentRules& rules,
                  const DocumentSink& take) {
  if (source.form == TextForm::kJsonLines) {
    return SplitJsonLines(block, source, rules, take);
  }
  switch (rules.split) {
    case Split::kFile:
      return EmitParts({.text = block.text,
                        .begins = !block.begin.inside_document,
                        .ends = !block.end.inside_document},
                       rules.split_on, take);
    case Split::kLine:
      return SplitLines(block, take);
    case Split::kBlankLine:
      return SplitParagraphs(block, take);
  }
  return OkStatus();
}

std::string DescribeUnusedSplit(const std::vector<Source>& sources, const DocumentRules& rules,
                                int64_t documents, std::string_view key) {
  const bool told = std::all_of(sources.begin(), sources.end(), [](const Source& source) {
    return source.form == TextForm::kText;
  });
  if (rules.split_on.empty() || !told || documents > std::ssize(sources)) return "";
  return fmt::format("'{}' ({}) occurs in no file, so each file is one document", rules.split_on,
                     key);
}

}  // namespace gp::corpus
