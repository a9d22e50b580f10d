#include "formats/token_shard.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <initializer_list>
#include <optional>

#include "base/check.h"
#include "base/file.h"
#include "base/text/excerpt.h"
#include "base/text/shell_word.h"
#include "formats/dataset_file.h"
#include "formats/edge_fingerprint.h"
#include "formats/file_kind.h"
#include "formats/likeness/array_form.h"
#include "formats/likeness/likeness.h"
#include "formats/likeness/sample_places.h"
#include "formats/likeness/token_form.h"
#include "formats/likeness/wide_text.h"
#include "formats/shard_writer.h"

namespace gp::formats {
namespace {

constexpr uint64_t kLlmCHeaderBytes = 1024;
constexpr uint64_t kHeaderMax = 1 << 20;
constexpr int32_t kLlmCMagic16 = 20240520;  // uint16 tokens, version 1
constexpr int32_t kLlmCMagic32 = 20240801;  // uint32 tokens, version 7 (llama-3 vocabularies)
constexpr int64_t kUint16Vocabulary = 65536;
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

Status CheckSize(const std::string& path, uint64_t file_size, const Layout& layout) {
  const uint64_t data_bytes = file_size - layout.data_offset;
  const auto element_bytes = static_cast<uint64_t>(layout.element_bytes);
  if (layout.size <= data_bytes / element_bytes && layout.size * element_bytes == data_bytes) {
    return OkStatus();
  }
  return InvalidArgument(
      "{}: the {} header at byte 0 declares {} tokens of {} bytes from byte {}, but {} bytes are "
      "there; the file is cut short or damaged: prepare it again",
      path, ShardFormatName(layout.format), layout.size, element_bytes, layout.data_offset,
      data_bytes);
}

bool IsLlmC(std::string_view bytes) {
  if (bytes.size() < 4) return false;
  const int32_t magic = ReadInt32(bytes, 0);
  return magic == kLlmCMagic16 || magic == kLlmCMagic32;
}

StatusOr<Layout> ParseLlmC(const std::string& path, std::string_view bytes, uint64_t file_size) {
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
  RETURN_IF_ERROR(CheckSize(path, file_size, layout));
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
                         path, shape.empty() ? "missing" : Excerpt(shape));
}

// Describes a type of five characters: "'>u2'" is "big-endian uint16".
std::string DescribeNpyType(const std::string& type) {
  const std::string order = type[1] == '>' ? "big-endian " : "";
  return fmt::format("{}{}{}", order, type[2] == 'u' ? "uint" : "int", (type[3] - '0') * 8);
}

// `path` without one of the endings.
std::string WithoutEnding(const std::string& path,
                          std::initializer_list<std::string_view> endings) {
  for (const std::string_view ending : endings) {
    if (path.ends_with(ending)) return path.substr(0, path.size() - ending.size());
  }
  return path;
}

// The command that writes what the Python expression `array` reads of `path` to STEM-TYPE.npy, with
// little-endian tokens of a NumPy type that gp reads.
std::string Conversion(const std::string& path, const std::string& array, const std::string& stem,
                       std::string_view type) {
  return fmt::format(
      "python3 -c \"import sys, numpy as np; np.save(sys.argv[2], {}.astype('{}'))\" {} {}", array,
      type, ShellWord(path), ShellWord(fmt::format("{}-{}.npy", stem, type.substr(1))));
}

std::string NpyConversion(const std::string& path, std::string_view type) {
  return Conversion(path, "np.load(sys.argv[1], mmap_mode='r')", WithoutEnding(path, {".npy"}),
                    type);
}

// The conversion of a file without a header whose tokens have the NumPy type `from`.
std::string RawConversion(const std::string& path, std::string_view from, std::string_view type) {
  return Conversion(path, fmt::format("np.fromfile(sys.argv[1], '{}')", from),
                    WithoutEnding(path, {".npy", ".bin"}), type);
}

constexpr std::string_view kTakesUint16 =
    "data.format: uint16 (gpctl eval --as uint16) reads it as tokens of two bytes";

// Whole numbers of another width or byte order can be converted; nothing else holds tokens.
Status WrongNpyType(const std::string& path, const std::string& type) {
  constexpr std::string_view kExpected = "expected '<u2', '<u4' or '<i4'";
  const bool whole = type.size() == 5 && (type[2] == 'u' || type[2] == 'i') &&
                     std::string_view("1248").find(type[3]) != std::string_view::npos;
  if (!whole) {
    return InvalidArgument("{}: NumPy type {} in the header, {}: token ids are whole numbers", path,
                           type.empty() ? "missing" : Excerpt(type), kExpected);
  }
  const bool narrow = type[3] == '1' || type[3] == '2';
  return InvalidArgument("{}: NumPy type {} ({}) in the header, {}; convert it: {}", path, type,
                         DescribeNpyType(type), kExpected,
                         NpyConversion(path, narrow ? "<u2" : "<u4"));
}

StatusOr<Layout> ParseNpy(const std::string& path, std::string_view bytes, uint64_t file_size) {
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
  if (type != "'<u2'" && type != "'<u4'" && type != "'<i4'") return WrongNpyType(path, type);
  ASSIGN_OR_RETURN(const uint64_t count, ParseNpyShape(path, NpyValue(header, "shape")));
  Layout layout{ShardFormat::kNpy, data_offset, type == "'<u2'" ? 2 : 4, count};
  RETURN_IF_ERROR(CheckSize(path, file_size, layout));
  return layout;
}

// Describes what a piece of a file without a header looks like, if it does not look like two-byte
// tokens.
struct Unlike {
  std::string what;  // "tokens of 4 bytes (…)", for messages
  std::string way;   // how to solve it, with a command
  bool is_text = false;
};

Unlike WiderTokensOf(const std::string& path, const TokenForm& form) {
  const std::string from =
      fmt::format("{}{}", form.big_endian ? '>' : '<', form.bytes == 4 ? "u4" : "i8");
  return {fmt::format("{}tokens of {} bytes (as uint16, {} of them would be 0 or small)",
                      form.big_endian ? "big-endian " : "", form.bytes,
                      form.bytes == 4 ? "half" : "three quarters"),
          form.masked ? "some numbers are below 0 (-100 masks labels in training) and are not "
                        "tokens: name the file of the input ids"
                      : "convert it: " + RawConversion(path, from, "<u4")};
}

Unlike FloatsOf(const std::string& path, const FloatForm& form) {
  if (!form.whole) {
    return {fmt::format("{} numbers", form.name),
            "token ids are whole numbers: name the file that holds them"};
  }
  return {fmt::format("whole numbers that are stored as {}", form.name),
          "convert it: " + RawConversion(path, form.numpy, "<u4")};
}

Unlike RecordsOf(const std::string& path, const Records& records) {
  const std::string column = fmt::format("np.fromfile(sys.argv[1], '<u2')[0::{}]", records.columns);
  const std::string way = "save the column of the tokens, here the first one: " +
                          Conversion(path, column, WithoutEnding(path, {".npy", ".bin"}), "<u2");
  if (records.form == RecordForm::kPairs) {
    return {"pairs of a token and the next one (each token stands twice)", way};
  }
  return {fmt::format("records of {} columns (every {} number differs in kind from those between)",
                      records.columns,
                      records.columns == 2   ? "second"
                      : records.columns == 3 ? "third"
                                             : "fourth"),
          way};
}

// Whether the piece is only zeros, like disk space that a program reserved but never wrote.
bool IsUnwritten(std::string_view piece) {
  constexpr size_t kBytesMin = 8192;
  return piece.size() >= kBytesMin && piece.find_first_not_of('\0') == std::string_view::npos;
}

std::optional<Unlike> TextIn(const std::string& path, std::string_view piece) {
  constexpr std::string_view kTextKeys = "text belongs in data.text or data.stream";
  if (const auto encoding = WideEncoding(piece)) {
    return Unlike{
        fmt::format("text in {}", *encoding),
        fmt::format("{}, in UTF-8: iconv -f {} -t UTF-8 {}", kTextKeys, *encoding, ShellWord(path)),
        true};
  }
  if (!LooksLikeText(piece)) return std::nullopt;
  if (piece.find('\0') != std::string_view::npos) {
    return Unlike{"text with bytes of value 0 in it", std::string(kTextKeys), true};
  }
  if (const auto likeness = UnlikeText(piece)) {
    return Unlike{likeness->what, WayFor(likeness->way, path), true};
  }
  return Unlike{"text", std::string(kTextKeys), true};
}

std::optional<Unlike> UnlikeTokens(const std::string& path, std::string_view piece) {
  if (WideEncoding(piece)) return TextIn(path, piece);
  if (const auto floats = FloatsIn(piece)) return FloatsOf(path, *floats);
  if (const auto form = WiderTokens(piece)) return WiderTokensOf(path, *form);
  if (IsUnwritten(piece)) {
    return Unlike{
        fmt::format("{} zero bytes, like a preallocated file that was never written", piece.size()),
        "prepare it again"};
  }
  if (auto text = TextIn(path, piece)) return text;
  if (const auto records = RecordsIn(piece)) return RecordsOf(path, *records);
  if (!LooksLikeOneByteTokens(piece)) return std::nullopt;
  return Unlike{"tokens of 1 byte (each uint16 would combine two of them)",
                "convert it: " + RawConversion(path, "u1", "<u2")};
}

// The number of zero bytes at the end, if they are so many that a download stopped or the file was
// preallocated; nullopt for fewer, such as padding.
std::optional<uint64_t> ZerosAtTheEnd(std::string_view last, uint64_t file_size) {
  constexpr uint64_t kBytesMin = 8192, kSureBytes = 32768, kShare = 10;
  const size_t end = last.find_last_not_of('\0');
  const uint64_t zeros = last.size() - (end == std::string_view::npos ? 0 : end + 1);
  const bool many = zeros >= kSureBytes || (zeros >= kBytesMin && zeros * kShare >= file_size);
  return many ? std::optional(zeros) : std::nullopt;
}

Status RefuseZeros(const std::string& path, uint64_t zeros) {
  return InvalidArgument(
      "{} ends with at least {} bytes of value 0, as after an interrupted download; copy or "
      "prepare it "
      "again; {}",
      path, zeros, kTakesUint16);
}

// Checks that the rest of the file looks like tokens too.
Status CheckLaterPieces(const RandomAccessFile& file, std::string_view begin) {
  std::string piece(begin.substr(0, kLikenessBytes));
  for (const uint64_t place : SamplePlaces(file.size_bytes())) {
    piece.resize(std::min<uint64_t>(kLikenessBytes, file.size_bytes() - place));
    RETURN_IF_ERROR(file.Read(place, piece));
    const auto unlike = UnlikeTokens(file.path(), piece);
    if (!unlike) continue;
    return InvalidArgument(
        "{} has no header and begins like tokens, but near byte {} it looks like {}: files were "
        "joined, or this one is damaged; prepare it again; {}",
        file.path(), place, unlike->what, kTakesUint16);
  }
  const auto zeros = ZerosAtTheEnd(piece, file.size_bytes());
  return zeros ? RefuseZeros(file.path(), *zeros) : OkStatus();
}

Status RefuseUnlikeTokens(const RandomAccessFile& file, std::string_view bytes) {
  const std::string_view begin = bytes.substr(0, kLikenessBytes);
  const auto unlike = UnlikeTokens(file.path(), begin);
  if (!unlike) return CheckLaterPieces(file, begin);
  if (unlike->is_text) {
    return InvalidArgument("{} looks like {}, expected tokens; {}; {}", file.path(), unlike->what,
                           unlike->way, kTakesUint16);
  }
  return InvalidArgument("{} has no header and looks like {}, expected uint16; {}; {}", file.path(),
                         unlike->what, kTakesUint16, unlike->way);
}

// True when dataset.json beside the file records two-byte tokens, so no guess is needed. Such
// tokens may look like text in UTF-16.
bool IsRecorded(const std::string& path, uint64_t file_size) {
  const auto dataset = ReadDatasetFile(DirectoryOf(path));
  const DatasetShard* const shard = dataset.ok() ? dataset->Find(BaseNameOf(path)) : nullptr;
  return shard != nullptr && static_cast<uint64_t>(shard->tokens) * 2 == file_size;
}

StatusOr<Layout> ParseRaw(const RandomAccessFile& file, std::string_view bytes,
                          Headerless headerless) {
  const std::string& path = file.path();
  const uint64_t file_size = file.size_bytes();
  RETURN_IF_ERROR(RefuseOtherKinds(path, bytes, "tokens"));
  if (headerless == Headerless::kChecked) {
    const Status unlike = RefuseUnlikeTokens(file, bytes);
    if (!unlike.ok() && !IsRecorded(path, file_size)) return unlike;
  }
  if (file_size % 2 == 0) return Layout{ShardFormat::kRaw, 0, 2, file_size / 2};
  return InvalidArgument(
      "{}: {} bytes are not a whole number of uint16 tokens, and there is no llm.c or NumPy header "
      "at "
      "byte "
      "0; text files belong in data.text",
      path, file_size);
}

// Refuses a shard that was written for a big-endian machine: its header and tokens are
// byte-swapped.
Status RefuseSwappedLlmC(const std::string& path, std::string_view bytes) {
  if (bytes.size() < 4) return OkStatus();
  const std::string magic(bytes.rend() - 4, bytes.rend());
  if (!IsLlmC(magic)) return OkStatus();
  const std::string_view width = ReadInt32(magic, 0) == kLlmCMagic32 ? "u4" : "u2";
  const std::string array =
      fmt::format("np.fromfile(sys.argv[1], '>{}', offset={})", width, kLlmCHeaderBytes);
  return InvalidArgument(
      "{} is a big-endian token shard of llm.c, expected a little-endian one; convert it: {}", path,
      Conversion(path, array, WithoutEnding(path, {".bin"}), fmt::format("<{}", width)));
}

// `bytes` are the first ones of the file, enough for every header.
StatusOr<Layout> Parse(const RandomAccessFile& file, std::string_view bytes,
                       Headerless headerless) {
  const std::string& path = file.path();
  const uint64_t file_size = file.size_bytes();
  if (bytes.empty()) return InvalidArgument("{} is empty; prepare it again", path);
  if (IsLlmC(bytes)) return ParseLlmC(path, bytes, file_size);
  if (bytes.starts_with(kNpyMagic)) return ParseNpy(path, bytes, file_size);
  RETURN_IF_ERROR(RefuseSwappedLlmC(path, bytes));
  return ParseRaw(file, bytes, headerless);
}

// Converts the uint16 values in the upper half of `tokens` in place. Each is read before its bytes
// are overwritten.
void Widen(std::span<int32_t> tokens) {
  const char* from = reinterpret_cast<const char*>(tokens.data()) + tokens.size_bytes() / 2;
  for (size_t i = 0; i < tokens.size(); ++i) {
    uint16_t token = 0;
    std::memcpy(&token, from + i * sizeof token, sizeof token);
    tokens[i] = token;
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

StatusOr<TokenShard> TokenShard::Open(const std::string& path, Headerless headerless) {
  ASSIGN_OR_RETURN(RandomAccessFile file, RandomAccessFile::Open(path));
  const uint64_t size = file.size_bytes();
  std::string header(std::min(size, kHeaderMax), '\0');
  RETURN_IF_ERROR(file.Read(0, header));
  ASSIGN_OR_RETURN(const Layout layout, Parse(file, header, headerless));
  TokenShard shard(std::move(file));
  ASSIGN_OR_RETURN(shard.fingerprint_, EdgeFingerprint(shard.file_));
  shard.format_ = layout.format;
  shard.headerless_ = headerless;
  shard.data_offset_ = layout.data_offset;
  shard.element_bytes_ = layout.element_bytes;
  shard.size_ = static_cast<int64_t>(layout.size);
  return shard;
}

Status TokenShard::CheckForm(int64_t vocabulary) const {
  if (format_ != ShardFormat::kRaw || headerless_ == Headerless::kUint16) return OkStatus();
  if (vocabulary > kUint16Vocabulary) {
    return InvalidArgument(
        "{} has no header, so its tokens would be uint16, but the vocabulary of {} needs 4 bytes a "
        "token; {}; convert it: {}",
        path(), vocabulary, kTakesUint16, RawConversion(path(), "<u4", "<u4"));
  }
  std::string begin(std::min<uint64_t>(kLikenessBytes, file_.size_bytes()), '\0');
  RETURN_IF_ERROR(file_.Read(0, begin));
  if (!LooksByteSwapped(begin, vocabulary)) return OkStatus();
  return InvalidArgument(
      "{} has no header and looks like big-endian tokens of 2 bytes (ids of the vocabulary of {} "
      "once their bytes are swapped), expected little-endian ones; {}; convert it: {}",
      path(), vocabulary, kTakesUint16, RawConversion(path(), ">u2", "<u2"));
}

Status TokenShard::Read(int64_t offset, int64_t vocabulary, std::span<int32_t> tokens) const {
  GP_CHECK(offset >= 0 && offset + static_cast<int64_t>(tokens.size()) <= size_,
           "tokens {}..+{} of {} in {}", offset, tokens.size(), size_, path());
  const auto element_bytes = static_cast<uint64_t>(element_bytes_);
  const size_t read_bytes = tokens.size() * element_bytes;
  char* to = reinterpret_cast<char*>(tokens.data()) + tokens.size_bytes() - read_bytes;
  RETURN_IF_ERROR(
      file_.Read(data_offset_ + static_cast<uint64_t>(offset) * element_bytes, {to, read_bytes}));
  if (element_bytes_ == 2) Widen(tokens);
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] >= 0 && tokens[i] < vocabulary) continue;
    return InvalidArgument(
        "{}: token {} at position {} is not below the vocabulary of {}; {}the shard was made with "
        "another tokenizer: set data.tokenizer or model.vocab to fit ({} format assumed)",
        path(), tokens[i], offset + static_cast<int64_t>(i), vocabulary,
        format_ == ShardFormat::kRaw ? "the file holds something other than tokens, or " : "",
        ShardFormatName(format_));
  }
  return OkStatus();
}

void TokenShard::Expect(int64_t offset, int64_t count) const {
  const auto element_bytes = static_cast<uint64_t>(element_bytes_);
  file_.Expect(data_offset_ + static_cast<uint64_t>(offset) * element_bytes,
               static_cast<uint64_t>(count) * element_bytes);
}

std::string FormatLlmCShard(std::span<const int32_t> tokens) {
  std::string bytes = ShardHeader({ShardFormat::kLlmC, 2}, static_cast<int64_t>(tokens.size()));
  for (const int32_t token : tokens) {
    GP_CHECK(token >= 0 && token < 65536);
    bytes.push_back(static_cast<char>(token & 0xff));
    bytes.push_back(static_cast<char>(token >> 8));
  }
  return bytes;
}

}  // namespace gp::formats
