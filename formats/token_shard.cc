#include "formats/token_shard.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/check.h"
#include "formats/sha256.h"

namespace gp::formats {
namespace {

constexpr uint64_t kLlmCHeaderBytes = 1024;
constexpr int32_t kLlmCMagic16 = 20240520;  // uint16 tokens, version 1
constexpr int32_t kLlmCMagic32 = 20240801;  // uint32 tokens, version 7 (llama-3 vocabularies)
constexpr std::string_view kNpyMagic = "\x93NUMPY";

struct Layout {
  ShardFormat format = ShardFormat::kRaw;
  uint64_t data_offset = 0;
  int element_bytes = 2;
  uint64_t size = 0;  // tokens
};

int32_t ReadInt32(std::string_view bytes, size_t index) {
  int32_t value = 0;
  std::memcpy(&value, bytes.data() + index * sizeof value, sizeof value);
  return value;
}

Status CheckSize(const std::string& path, std::string_view bytes, const Layout& layout) {
  const uint64_t data_bytes = bytes.size() - layout.data_offset;
  const auto element_bytes = static_cast<uint64_t>(layout.element_bytes);
  if (layout.size <= data_bytes / element_bytes && layout.size * element_bytes == data_bytes) {
    return OkStatus();
  }
  return InvalidArgument(
      "{}: the {} header at byte 0 promises {} tokens of {} bytes from byte {}, but {} bytes are "
      "there; "
      "the file is cut short or damaged: prepare it again",
      path, ShardFormatName(layout.format), layout.size, element_bytes, layout.data_offset,
      data_bytes);
}

bool IsLlmC(std::string_view bytes) {
  if (bytes.size() < 4) return false;
  const int32_t magic = ReadInt32(bytes, 0);
  return magic == kLlmCMagic16 || magic == kLlmCMagic32;
}

StatusOr<Layout> ParseLlmC(const std::string& path, std::string_view bytes) {
  if (bytes.size() < kLlmCHeaderBytes) {
    return InvalidArgument(
        "{}: an llm.c shard has a header of {} bytes, but the file has only {}; "
        "it is cut short: prepare it again",
        path, kLlmCHeaderBytes, bytes.size());
  }
  const bool wide = ReadInt32(bytes, 0) == kLlmCMagic32;
  const int32_t version = ReadInt32(bytes, 1), count = ReadInt32(bytes, 2);
  const int32_t expected = wide ? 7 : 1;
  if (version != expected) {
    return InvalidArgument("{}: llm.c shard version {} at byte 4, expected {}", path, version,
                           expected);
  }
  if (count < 0) {
    return InvalidArgument("{}: llm.c token count {} at byte 8 is negative", path, count);
  }
  Layout layout{ShardFormat::kLlmC, kLlmCHeaderBytes, wide ? 4 : 2, static_cast<uint64_t>(count)};
  RETURN_IF_ERROR(CheckSize(path, bytes, layout));
  return layout;
}

// The value after "'key':" in a NumPy header, up to the next comma outside of brackets.
std::string NpyValue(std::string_view header, std::string_view key) {
  const size_t at = header.find("'" + std::string(key) + "':");
  if (at == std::string_view::npos) return "";
  std::string value;
  int depth = 0;
  for (const char c : header.substr(at + key.size() + 3)) {
    if (c == '(') ++depth;
    if (c == ')') --depth;
    if ((c == ',' || c == '}') && depth <= 0) break;
    if (c != ' ') value.push_back(c);
  }
  return value;
}

// "(123,)" is the only shape a shard has.
StatusOr<uint64_t> ParseNpyShape(const std::string& path, const std::string& shape) {
  uint64_t count = 0;
  const char* end = shape.data() + shape.size();
  if (shape.size() >= 4 && shape.front() == '(' && shape.ends_with(",)")) {
    const auto [stop, error] = std::from_chars(shape.data() + 1, end, count);
    if (error == std::errc() && stop == end - 2) return count;
  }
  return InvalidArgument("{}: NumPy shape {} in the header, expected one dimension like (1000,)",
                         path, shape.empty() ? "missing" : shape);
}

StatusOr<Layout> ParseNpy(const std::string& path, std::string_view bytes) {
  const auto cut = [&] {
    return InvalidArgument("{}: the NumPy header is cut short at byte {}: prepare the file again",
                           path, bytes.size());
  };
  if (bytes.size() < 10) return cut();
  const int major = static_cast<unsigned char>(bytes[6]);
  if (major < 1 || major > 3) {
    return InvalidArgument("{}: NumPy format version {} at byte 6, expected 1 to 3", path, major);
  }
  const size_t length_bytes = major == 1 ? 2 : 4;
  if (bytes.size() < 8 + length_bytes) return cut();
  uint64_t header_bytes = 0;
  for (size_t i = length_bytes; i-- > 0;) {
    header_bytes = header_bytes << 8 | static_cast<unsigned char>(bytes[8 + i]);
  }
  const uint64_t data_offset = 8 + length_bytes + header_bytes;
  if (data_offset > bytes.size()) return cut();
  const std::string_view header = bytes.substr(8 + length_bytes, header_bytes);
  const std::string type = NpyValue(header, "descr"), order = NpyValue(header, "fortran_order");
  if (type != "'<u2'" && type != "'<u4'" && type != "'<i4'") {
    return InvalidArgument("{}: NumPy type {} in the header, expected '<u2', '<u4' or '<i4'", path,
                           type.empty() ? "missing" : type);
  }
  ASSIGN_OR_RETURN(const uint64_t count, ParseNpyShape(path, NpyValue(header, "shape")));
  Layout layout{ShardFormat::kNpy, data_offset, type == "'<u2'" ? 2 : 4, count};
  RETURN_IF_ERROR(CheckSize(path, bytes, layout));
  return layout;
}

StatusOr<Layout> ParseRaw(const std::string& path, std::string_view bytes) {
  if (bytes.size() % 2 == 0) return Layout{ShardFormat::kRaw, 0, 2, bytes.size() / 2};
  return InvalidArgument(
      "{}: {} bytes are no whole number of uint16 tokens, and there is no llm.c or NumPy header at "
      "byte "
      "0; text files belong in data.text",
      path, bytes.size());
}

StatusOr<Layout> Parse(const std::string& path, std::string_view bytes) {
  if (bytes.empty()) return InvalidArgument("{} is empty; prepare it again", path);
  if (IsLlmC(bytes)) return ParseLlmC(path, bytes);
  if (bytes.starts_with(kNpyMagic)) return ParseNpy(path, bytes);
  return ParseRaw(path, bytes);
}

template <typename Element>
void Widen(const char* from, std::span<int32_t> to) {
  for (size_t i = 0; i < to.size(); ++i) {
    Element element;
    std::memcpy(&element, from + i * sizeof element, sizeof element);
    to[i] = static_cast<int32_t>(element);
  }
}

}  // namespace

std::string_view ShardFormatName(ShardFormat format) {
  switch (format) {
    case ShardFormat::kLlmC:
      return "llm.c";
    case ShardFormat::kNpy:
      return "NumPy";
    case ShardFormat::kRaw:
      return "raw uint16";
  }
  return "unknown";
}

StatusOr<TokenShard> TokenShard::Open(const std::string& path) {
  TokenShard shard;
  ASSIGN_OR_RETURN(shard.file_, MappedFile::Open(path));
  ASSIGN_OR_RETURN(const Layout layout, Parse(path, shard.file_.bytes()));
  shard.format_ = layout.format;
  shard.data_offset_ = layout.data_offset;
  shard.element_bytes_ = layout.element_bytes;
  shard.size_ = static_cast<int64_t>(layout.size);
  return shard;
}

Status TokenShard::Read(int64_t offset, int64_t vocabulary, std::span<int32_t> tokens) const {
  GP_CHECK(offset >= 0 && offset + static_cast<int64_t>(tokens.size()) <= size_,
           "tokens {}..+{} of {} in {}", offset, tokens.size(), size_, path());
  const char* from = file_.bytes().data() + data_offset_ + offset * element_bytes_;
  if (element_bytes_ == 2) {
    Widen<uint16_t>(from, tokens);
  } else {
    Widen<int32_t>(from, tokens);
  }
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] >= 0 && tokens[i] < vocabulary) continue;
    return InvalidArgument(
        "{}: token {} at position {} is not below the vocabulary of {}; the shard was made with "
        "another tokenizer: set data.tokenizer or model.vocab to fit ({} format assumed)",
        path(), tokens[i], offset + static_cast<int64_t>(i), vocabulary, ShardFormatName(format_));
  }
  return OkStatus();
}

std::string TokenShard::Fingerprint() const {
  constexpr size_t kEdgeBytes = 1 << 16;
  const std::string_view bytes = file_.bytes();
  const size_t edge = std::min(bytes.size(), kEdgeBytes);
  Sha256 sha;
  sha.Update(fmt::format("{}:", bytes.size()));
  sha.Update(bytes.substr(0, edge));
  sha.Update(bytes.substr(bytes.size() - edge));
  return sha.Finish();
}

std::string FormatLlmCShard(std::span<const int32_t> tokens) {
  std::string bytes(kLlmCHeaderBytes, '\0');
  const int32_t header[3] = {kLlmCMagic16, 1, static_cast<int32_t>(tokens.size())};
  std::memcpy(bytes.data(), header, sizeof header);
  for (const int32_t token : tokens) {
    GP_CHECK(token >= 0 && token < 65536);
    bytes.push_back(static_cast<char>(token & 0xff));
    bytes.push_back(static_cast<char>(token >> 8));
  }
  return bytes;
}

}  // namespace gp::formats
