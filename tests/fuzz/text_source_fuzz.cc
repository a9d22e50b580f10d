// An untrusted text file, plain or compressed, split into documents by each rule. The first byte
// selects the rule.
#include <cstdint>
#include <optional>
#include <string>

#include "base/check.h"
#include "corpus/block_reader.h"
#include "corpus/document_splitter.h"
#include "fuzz/bytes_file.h"

namespace {

using namespace gp;
using namespace gp::corpus;

// A decompression bomb need not be read to its end.
constexpr uint64_t kTextBytesMax = 4 << 20;

size_t CutAtSpace(std::string_view text, size_t begin) {
  return std::min(text.find(' ', begin == 0 ? 1 : begin), text.size());
}

// Reads all documents; the blocks must follow each other without a gap.
Status ReadDocuments(const Source& source, const DocumentRules& rules) {
  ASSIGN_OR_RETURN(BlockReader reader, BlockReader::Open(source, rules, CutAtSpace));
  BlockPosition position;
  while (true) {
    ASSIGN_OR_RETURN(const std::optional<Block> block, reader.Next());
    if (!block.has_value() || block->end.offset > kTextBytesMax) return OkStatus();
    GP_CHECK(block->begin.offset == position.offset || position == BlockPosition{});
    GP_CHECK(block->end.offset == block->begin.offset + block->text.size());
    position = block->end;
    size_t bytes = 0;
    bool inside = block->begin.inside_document;
    const auto take = [&](const DocumentPart& part) {
      GP_CHECK(part.begins == !inside);
      inside = !part.ends;
      bytes += part.text.size();
      return OkStatus();
    };
    RETURN_IF_ERROR(SplitBlock(*block, source, rules, take));
    GP_CHECK(inside == block->end.inside_document && bytes <= 3 * block->text.size());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const BytesFile file(data + 1, size - 1);
  const int choice = data[0] % 4;
  const Source source{.path = file.path(),
                      .form = choice == 3 ? TextForm::kJsonLines : TextForm::kText,
                      .size_bytes = size};
  const DocumentRules rules{.split = static_cast<Split>(choice % 3)};
  const Status status = ReadDocuments(source, rules);
  GP_CHECK(status.ok() || !status.message().empty());
  return 0;
}
