// TensorFile: one safetensors file whose tensors are read one at a time, as fp32. Nothing is
// mapped: a file truncated while it is read is an error. Movable; any thread may read.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/status.h"
#include "formats/random_access_file.h"
#include "formats/safetensors.h"

namespace gp::interop {

class TensorFile {
 public:
  // Checks the whole header (formats/safetensors.h), reads no data.
  static StatusOr<TensorFile> Open(const std::string& path);

  const std::string& path() const { return file_.path(); }
  const formats::SafetensorsHeader& header() const { return header_; }

  // Elements [first, first + values.size()) of the tensor, widened to fp32. InvalidArgument when
  // its type is not F32, F16 or BF16. REQUIRES: the entry is of this file's header, and the range
  // lies inside.
  Status Read(const formats::TensorEntry& tensor, int64_t first, std::span<float> values) const;

 private:
  formats::RandomAccessFile file_;
  formats::SafetensorsHeader header_;
};

}  // namespace gp::interop
