// The safetensors format (docs/formats/safetensors.md): an 8-byte length, a JSON header, then the
// tensors' bytes without holes. The reader treats its input as hostile: every size is checked
// before it is used. Values and pure functions; a SafetensorsFile may be read by any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "formats/mapped_file.h"

namespace gp::formats {

struct TensorEntry {
  std::string name;
  std::string dtype;  // "F32", "BF16", ...
  std::vector<int64_t> shape;
  uint64_t begin = 0;  // bytes from the start of the data
  uint64_t end = 0;

  bool operator==(const TensorEntry&) const = default;
};

struct SafetensorsHeader {
  std::vector<TensorEntry> tensors;             // by position in the data
  std::map<std::string, std::string> metadata;  // without "format"
  uint64_t data_offset = 0;                     // where the data begins in the file

  // nullptr if there is no such tensor.
  const TensorEntry* Find(std::string_view name) const;
};

inline constexpr uint64_t kSafetensorsHeaderBytesMax = 100'000'000;

// The number of bytes that ParseSafetensorsHeader needs, from a file's first 8 bytes and its size.
StatusOr<uint64_t> SafetensorsPrefixBytes(std::string_view first_bytes, uint64_t file_size,
                                          const std::string& path);

// `prefix` holds at least the header; `file_size` is the whole file's. Checks the whole header:
// known types, shapes that match the sizes, no overlap, no hole, no duplicate, nothing beyond the
// file. `path` is for messages.
StatusOr<SafetensorsHeader> ParseSafetensorsHeader(std::string_view prefix, uint64_t file_size,
                                                   const std::string& path);

// The bytes before the data: tensors are stored in the given order; computes `begin` and `end`.
// Padded so that the data starts at a multiple of 64. Equal input gives equal bytes. Metadata gets
// "format": "pt", which other readers require.
std::string FormatSafetensorsHeader(std::vector<TensorEntry> tensors,
                                    const std::map<std::string, std::string>& metadata);

// Bytes per element; 0 for an unknown type.
uint64_t ElementBytes(std::string_view dtype);

class SafetensorsFile {
 public:
  static StatusOr<SafetensorsFile> Open(const std::string& path);

  const SafetensorsHeader& header() const { return header_; }
  const std::string& path() const { return file_.path(); }
  std::string_view Data(const TensorEntry& tensor) const;

 private:
  MappedFile file_;
  SafetensorsHeader header_;
};

}  // namespace gp::formats
