// An untrusted model file. In an accepted file, every tensor lies within the file, and its
// rewritten header means the same.
#include <cstdint>
#include <numeric>
#include <string>

#include "base/check.h"
#include "formats/safetensors.h"
#include "fuzz/bytes_file.h"

namespace {

using namespace gp;
using namespace gp::formats;

void CheckTensor(const TensorEntry& tensor, uint64_t data_bytes) {
  GP_CHECK(tensor.begin <= tensor.end && tensor.end <= data_bytes);
  GP_CHECK(ElementBytes(tensor.dtype) > 0);
  uint64_t bytes = ElementBytes(tensor.dtype);
  for (const int64_t extent : tensor.shape) {
    GP_CHECK(extent >= 0 && !__builtin_mul_overflow(bytes, static_cast<uint64_t>(extent), &bytes));
  }
  GP_CHECK(bytes == tensor.end - tensor.begin);
}

void CheckSameHeader(const SafetensorsHeader& header, uint64_t data_bytes) {
  const std::string text = FormatSafetensorsHeader(header.tensors, header.metadata);
  const auto again = ParseSafetensorsHeader(text, text.size() + data_bytes, "again");
  GP_CHECK(again.ok(), "{}", Message(again.status()));
  GP_CHECK(again->metadata == header.metadata && again->data_offset == text.size());
  GP_CHECK(again->tensors == header.tensors);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const BytesFile bytes(data, size);
  const auto file = SafetensorsFile::Open(bytes.path());
  if (!file.ok()) {
    GP_CHECK(Message(file.status()).find(bytes.path()) != std::string::npos);
    return 0;
  }
  const SafetensorsHeader& header = file->header();
  const uint64_t data_bytes = size - header.data_offset;
  unsigned sum = 0;
  for (const TensorEntry& tensor : header.tensors) {
    CheckTensor(tensor, data_bytes);
    const std::string_view content = file->Data(tensor);
    // Read every byte, so that the sanitizer detects one outside the file.
    sum = std::accumulate(content.begin(), content.end(), sum);
    GP_CHECK(header.Find(tensor.name) == &tensor);
  }
  GP_CHECK(sum != 1u << 31 || size > 1u << 20);
  CheckSameHeader(header, data_bytes);
  return 0;
}
