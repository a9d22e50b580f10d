#include "tasks/choice_row.h"

#include <algorithm>

#include "tasks/harness_text.h"

namespace gp::tasks {
namespace {

StatusOr<ChoiceRow> CompletionRow(const std::string& context, const std::string& ending,
                                  const Tokenizer& tokenizer, int64_t length_max) {
  ChoiceRow row;
  ASSIGN_OR_RETURN(row.tokens, tokenizer.Encode(context));
  ASSIGN_OR_RETURN(const auto added, tokenizer.Encode(" " + ending));
  row.tokens.insert(row.tokens.end(), added.begin(), added.end());
  row.scored = std::ssize(added);
  row.length = static_cast<double>(row.scored);
  if (std::ssize(row.tokens) <= length_max) return row;
  return InvalidArgument(
      "context and ending have {} tokens, but the model's context is {}; the harness style "
      "truncates the context",
      row.tokens.size(), length_max);
}

// White space at the end of the context counts as part of the ending. Both are encoded together;
// the context, encoded alone, gives the number of tokens before the ending.
StatusOr<ChoiceRow> HarnessRow(const std::string& context, const std::string& ending,
                               const Tokenizer& tokenizer, int64_t length_max) {
  ChoiceRow row;
  ASSIGN_OR_RETURN(const auto before, tokenizer.Encode(context.substr(0, TrimmedSize(context))));
  ASSIGN_OR_RETURN(row.tokens, tokenizer.Encode(context + " " + ending));
  row.scored = std::ssize(row.tokens) - std::ssize(before);
  row.length = static_cast<double>(CodePointCount(ending));
  if (before.empty() || row.scored < 1) {
    return InvalidArgument("expected a context of at least one token before the ending");
  }
  if (row.scored > length_max) {
    return InvalidArgument("an ending has {} tokens, but the model's context is {}", row.scored,
                           length_max);
  }
  const int64_t cut = std::max<int64_t>(row.input_length() - length_max, 0);
  row.tokens.erase(row.tokens.begin(), row.tokens.begin() + cut);
  return row;
}

Status AddItem(const ChoiceItem& item, ChoiceForm form, ChoiceStyle style,
               const Tokenizer& tokenizer, int64_t length_max, std::vector<ChoiceRow>& rows) {
  ASSIGN_OR_RETURN(const ChoiceTexts texts, TextsOf(item, form, style));
  const auto make = style == ChoiceStyle::kHarness ? HarnessRow : CompletionRow;
  for (const std::string& ending : texts.endings) {
    ASSIGN_OR_RETURN(ChoiceRow row, make(texts.context, ending, tokenizer, length_max));
    rows.push_back(std::move(row));
  }
  return OkStatus();
}

}  // namespace

StatusOr<std::vector<ChoiceRow>> EncodeChoices(const ChoiceFile& file, ChoiceStyle style,
                                               const Tokenizer& tokenizer, int64_t length_max) {
  std::vector<ChoiceRow> rows;
  rows.reserve(static_cast<size_t>(file.row_count()));
  for (const ChoiceItem& item : file.items) {
    const Status status = AddItem(item, file.form, style, tokenizer, length_max, rows);
    if (!status.ok()) return WithContext(status, fmt::format("{}:{}", file.path, item.line));
  }
  return rows;
}

}  // namespace gp::tasks
