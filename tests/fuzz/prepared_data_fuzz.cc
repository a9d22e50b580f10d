// The files in a folder of prepared data: dataset.json, prepare.json, or a shard. The first byte
// selects which.
#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "corpus/preparation_state.h"
#include "formats/dataset_file.h"
#include "formats/token_shard.h"
#include "fuzz/bytes_file.h"

namespace {

using namespace gp;

void TryDataset(std::string_view text) {
  const auto dataset = formats::ParseDatasetFile(text, "dataset.json");
  if (!dataset.ok()) return;
  const std::string written = formats::FormatDatasetFile(*dataset);
  const auto again = formats::ParseDatasetFile(written, "dataset.json");
  GP_CHECK(again.ok() && formats::FormatDatasetFile(*again) == written);
}

void TryState(std::string_view text) {
  const auto state = corpus::ParsePreparationState(text);
  if (!state.ok()) return;
  const std::string written = corpus::FormatPreparationState(*state);
  const auto again = corpus::ParsePreparationState(written);
  GP_CHECK(again.ok() && corpus::FormatPreparationState(*again) == written);
}

void TryShard(const uint8_t* data, size_t size) {
  const BytesFile file(data, size);
  const auto shard = formats::TokenShard::Open(file.path());
  if (!shard.ok()) return;
  GP_CHECK(shard->size() >= 0 && static_cast<size_t>(shard->size()) <= size);
  std::vector<int32_t> tokens(static_cast<size_t>(shard->size()));
  (void)shard->Read(0, 50257, tokens);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 3) {
    case 0:
      TryDataset(text);
      break;
    case 1:
      TryState(text);
      break;
    default:
      TryShard(data + 1, size - 1);
  }
  return 0;
}
