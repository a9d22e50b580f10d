#include "formats/safetensors.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "formats/strict_json.h"

namespace gp::formats {
namespace {

using HeaderJson = nlohmann::json;

constexpr uint64_t kLengthBytes = 8;
constexpr uint64_t kAlignment = 64;

uint64_t ReadLength(std::string_view bytes) {
  uint64_t length = 0;
  for (size_t i = kLengthBytes; i-- > 0;) {
    length = length << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return length;
}

StatusOr<uint64_t> ByteCount(const TensorEntry& tensor, const std::string& path) {
  uint64_t bytes = ElementBytes(tensor.dtype);
  if (bytes == 0) {
    return InvalidArgument("{}: tensor '{}' has the unknown type '{}'", path, tensor.name,
                           tensor.dtype);
  }
  for (const int64_t extent : tensor.shape) {
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(extent), &bytes)) {
      return InvalidArgument("{}: the shape of tensor '{}' overflows", path, tensor.name);
    }
  }
  return bytes;
}

bool IsCount(const HeaderJson& value) {
  return value.is_number_unsigned() && value.get<uint64_t>() <= uint64_t{INT64_MAX};
}

StatusOr<TensorEntry> ParseTensor(const std::string& name, const HeaderJson& value,
                                  const std::string& path) {
  const auto bad = [&](std::string_view what) {
    return InvalidArgument("{}: tensor '{}': {}", path, name, what);
  };
  if (!value.is_object() || value.size() != 3 || !value.contains("dtype") ||
      !value.contains("shape") || !value.contains("data_offsets")) {
    return bad("expected exactly dtype, shape and data_offsets");
  }
  const HeaderJson &dtype = value["dtype"], &shape = value["shape"],
                   &offsets = value["data_offsets"];
  if (!dtype.is_string()) return bad("dtype is not text");
  if (!shape.is_array() || shape.size() > 16) return bad("shape is not a short list");
  if (!offsets.is_array() || offsets.size() != 2) return bad("data_offsets is not a pair");
  for (const HeaderJson& extent : shape) {
    if (!IsCount(extent)) return bad("shape holds something that is not a count");
  }
  for (const HeaderJson& offset : offsets) {
    if (!IsCount(offset)) return bad("data_offsets holds something that is not a count");
  }
  return TensorEntry{name, dtype.get<std::string>(), shape.get<std::vector<int64_t>>(),
                     offsets[0].get<uint64_t>(), offsets[1].get<uint64_t>()};
}

Status ParseMetadata(const HeaderJson& object, const std::string& path, SafetensorsHeader& header) {
  if (!object.is_object()) return InvalidArgument("{}: __metadata__ is not an object", path);
  for (const auto& [key, value] : object.items()) {
    if (!value.is_string()) {
      return InvalidArgument("{}: __metadata__ '{}' is not a string", path, key);
    }
    if (key != "format") header.metadata[key] = value.get<std::string>();
  }
  return OkStatus();
}

// Tensors, sorted by position, must tile [0, data_bytes) exactly.
Status CheckTiling(const SafetensorsHeader& header, uint64_t data_bytes, const std::string& path) {
  uint64_t expected = 0;
  for (const TensorEntry& tensor : header.tensors) {
    ASSIGN_OR_RETURN(const uint64_t bytes, ByteCount(tensor, path));
    if (tensor.begin != expected) {
      return InvalidArgument("{}: tensor '{}' begins at byte {} of the data, expected {} ({})",
                             path, tensor.name, tensor.begin, expected,
                             tensor.begin < expected ? "an overlap" : "a hole");
    }
    if (tensor.end < tensor.begin || tensor.end - tensor.begin != bytes) {
      return InvalidArgument("{}: tensor '{}' has {} bytes, its shape and type need {}", path,
                             tensor.name, static_cast<int64_t>(tensor.end - tensor.begin), bytes);
    }
    if (tensor.end > data_bytes) {
      return InvalidArgument(
          "{}: tensor '{}' ends at byte {} of the data, but the file has only {}", path,
          tensor.name, tensor.end, data_bytes);
    }
    expected = tensor.end;
  }
  if (expected == data_bytes) return OkStatus();
  return InvalidArgument("{}: {} bytes follow the last tensor", path, data_bytes - expected);
}

void SortByPosition(std::vector<TensorEntry>& tensors) {
  std::stable_sort(tensors.begin(), tensors.end(), [](const TensorEntry& a, const TensorEntry& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
}

}  // namespace

uint64_t ElementBytes(std::string_view dtype) {
  static const std::map<std::string_view, uint64_t> kBytes = {
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E4M3", 1}, {"F8_E5M2", 1},
      {"I16", 2},  {"U16", 2}, {"F16", 2}, {"BF16", 2},    {"I32", 4},
      {"U32", 4},  {"F32", 4}, {"I64", 8}, {"U64", 8},     {"F64", 8}};
  const auto found = kBytes.find(dtype);
  return found == kBytes.end() ? 0 : found->second;
}

const TensorEntry* SafetensorsHeader::Find(std::string_view name) const {
  for (const TensorEntry& tensor : tensors) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

StatusOr<uint64_t> SafetensorsPrefixBytes(std::string_view first_bytes, uint64_t file_size,
                                          const std::string& path) {
  if (file_size < kLengthBytes || first_bytes.size() < kLengthBytes) {
    return InvalidArgument("{}: {} bytes are too few for a safetensors file", path, file_size);
  }
  const uint64_t length = ReadLength(first_bytes);
  if (length > kSafetensorsHeaderBytesMax) {
    return InvalidArgument("{}: the header claims {} bytes; at most {} are allowed", path, length,
                           kSafetensorsHeaderBytesMax);
  }
  if (length > file_size - kLengthBytes) {
    return InvalidArgument("{}: the header claims {} bytes, but the file has only {}", path, length,
                           file_size);
  }
  return kLengthBytes + length;
}

StatusOr<SafetensorsHeader> ParseSafetensorsHeader(std::string_view prefix, uint64_t file_size,
                                                   const std::string& path) {
  ASSIGN_OR_RETURN(const uint64_t data_offset, SafetensorsPrefixBytes(prefix, file_size, path));
  if (prefix.size() < data_offset) {
    return InvalidArgument("{}: the header of {} bytes is cut short", path, data_offset);
  }
  const std::string_view text = prefix.substr(kLengthBytes, data_offset - kLengthBytes);
  if (!text.starts_with('{'))
    return InvalidArgument("{}: the header does not begin with '{{'", path);
  const auto object = ParseJsonObject(text);
  RETURN_IF_ERROR(WithContext(object.status(), path + ": the header"));
  SafetensorsHeader header;
  header.data_offset = data_offset;
  for (const auto& [name, value] : object->items()) {
    if (name == "__metadata__") {
      RETURN_IF_ERROR(ParseMetadata(value, path, header));
      continue;
    }
    ASSIGN_OR_RETURN(TensorEntry tensor, ParseTensor(name, value, path));
    header.tensors.push_back(std::move(tensor));
  }
  SortByPosition(header.tensors);
  RETURN_IF_ERROR(CheckTiling(header, file_size - data_offset, path));
  return header;
}

std::string FormatSafetensorsHeader(std::vector<TensorEntry> tensors,
                                    const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  object["__metadata__"] = metadata;
  object["__metadata__"]["format"] = "pt";
  uint64_t offset = 0;
  for (const TensorEntry& tensor : tensors) {
    uint64_t bytes = ElementBytes(tensor.dtype);
    for (const int64_t extent : tensor.shape) bytes *= static_cast<uint64_t>(extent);
    object[tensor.name] = {{"dtype", tensor.dtype},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
  }
  std::string text = object.dump();
  const uint64_t unpadded = kLengthBytes + text.size();
  text.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ');
  std::string header;
  for (uint64_t i = 0, length = text.size(); i < kLengthBytes; ++i, length >>= 8) {
    header.push_back(static_cast<char>(length & 0xff));
  }
  return header + text;
}

StatusOr<SafetensorsFile> SafetensorsFile::Open(const std::string& path) {
  SafetensorsFile file;
  ASSIGN_OR_RETURN(file.file_, MappedFile::Open(path));
  const std::string_view bytes = file.file_.bytes();
  ASSIGN_OR_RETURN(file.header_, ParseSafetensorsHeader(bytes, bytes.size(), path));
  return file;
}

std::string_view SafetensorsFile::Data(const TensorEntry& tensor) const {
  return file_.bytes().substr(header_.data_offset + tensor.begin, tensor.end - tensor.begin);
}

}  // namespace gp::formats
