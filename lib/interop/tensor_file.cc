#include "interop/tensor_file.h"

#include <algorithm>
#include <vector>

#include "formats/file_kind.h"
#include "interop/float_type.h"

namespace gp::interop {
namespace {

constexpr size_t kPieceElements = size_t{1} << 18;
constexpr uint64_t kLengthBytes = 8;

StatusOr<std::string> ReadHeaderText(const formats::RandomAccessFile& file) {
  RETURN_IF_ERROR(formats::RefuseOtherKinds(file, "a safetensors file"));
  std::string prefix(std::min<uint64_t>(kLengthBytes, file.size_bytes()), '\0');
  RETURN_IF_ERROR(file.Read(0, prefix));
  ASSIGN_OR_RETURN(const uint64_t needed,
                   formats::SafetensorsPrefixBytes(prefix, file.size_bytes(), file.path()));
  prefix.resize(needed);
  RETURN_IF_ERROR(file.Read(0, prefix));
  return prefix;
}

}  // namespace

StatusOr<TensorFile> TensorFile::Open(const std::string& path) {
  TensorFile tensors;
  ASSIGN_OR_RETURN(tensors.file_, formats::RandomAccessFile::Open(path));
  ASSIGN_OR_RETURN(const std::string text, ReadHeaderText(tensors.file_));
  ASSIGN_OR_RETURN(tensors.header_,
                   formats::ParseSafetensorsHeader(text, tensors.file_.size_bytes(), path));
  return tensors;
}

Status TensorFile::Read(const formats::TensorEntry& tensor, int64_t first,
                        std::span<float> values) const {
  const auto type = FloatTypeOf(tensor.dtype);
  if (!type) {
    return InvalidArgument("{}: tensor '{}' is {}, expected F32, F16 or BF16", path(), tensor.name,
                           tensor.dtype);
  }
  const auto width = static_cast<uint64_t>(FloatBytes(*type));
  uint64_t offset = header_.data_offset + tensor.begin + static_cast<uint64_t>(first) * width;
  std::vector<char> bytes;
  while (!values.empty()) {
    const size_t count = std::min(values.size(), kPieceElements);
    bytes.resize(count * width);
    RETURN_IF_ERROR(file_.Read(offset, bytes));
    Widen(*type, {bytes.data(), bytes.size()}, values.first(count));
    values = values.subspan(count);
    offset += bytes.size();
  }
  return OkStatus();
}

}  // namespace gp::interop
