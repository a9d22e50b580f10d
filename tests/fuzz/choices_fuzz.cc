// An untrusted file of multiple-choice questions, and the rows that both styles make from it.
#include <cstdint>

#include "base/check.h"
#include "fuzz/bytes_file.h"
#include "tasks/choice_row.h"
#include "tokenizer/byte_tokenizer.h"

namespace {

using namespace gp;
using namespace gp::tasks;

constexpr int64_t kLengthMax = 64;

void CheckRows(const ChoiceFile& file, ChoiceStyle style) {
  const auto rows = EncodeChoices(file, style, ByteTokenizer(), kLengthMax);
  if (!rows.ok()) {
    GP_CHECK(rows.status().message().find(file.path + ":") == 0);
    return;
  }
  GP_CHECK(std::ssize(*rows) == file.row_count());
  for (const ChoiceRow& row : *rows) {
    GP_CHECK(row.scored >= 1 && row.scored <= row.input_length() && row.length >= 1);
    GP_CHECK(row.input_length() <= kLengthMax);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const BytesFile bytes(data, size);
  const auto file = ReadChoiceFile(bytes.path());
  if (!file.ok()) {
    GP_CHECK(file.status().message().find(bytes.path()) != std::string::npos);
    return 0;
  }
  GP_CHECK(!file->items.empty());
  for (const ChoiceItem& item : file->items) {
    GP_CHECK(item.endings.size() >= 2 && item.endings.size() <= kEndingsMax);
    GP_CHECK(item.label >= 0 && item.label < std::ssize(item.endings) && item.line >= 1);
  }
  for (const std::string& name : kStyleNames) CheckRows(*file, StyleOf(name));
  return 0;
}
