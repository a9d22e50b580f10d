#include "formats/file_kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "formats/likeness/likeness.h"
#include "formats/likeness/wide_text.h"
#include "formats/old_pickle.h"

namespace gp::formats {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kUnpackPyTorch =
    "docs/formats/nanogpt-model.md shows how to write it as safetensors";

constexpr std::string_view kSaveTokens =
    "read its tokens with the library that wrote it, and save them: np.save";
constexpr std::string_view kSaveIndexed =
    "its tokens are in the .bin file beside it; save them as an array of NumPy: np.save";

struct Magic {
  std::string_view bytes;
  FileKind kind;
  size_t offset = 0;
};

// A text may begin with the letters of a short magic number. Such a number counts only when a
// control character, which no text has, is among the first bytes.
constexpr Magic kMagics[] = {
    {"version https://git-lfs.github.com/spec/"sv,
     {"a Git LFS pointer and not the file itself", "fetch the file: git lfs pull"}},
    {"version https://hawser.github.com/spec/"sv,
     {"a Git LFS pointer and not the file itself", "fetch the file: git lfs pull"}},
    {"/annex/objects/"sv,
     {"a git-annex pointer and not the file itself", "fetch the file: git annex get {}"}},
    {"\xff\xfe\0\0"sv, {"text in UTF-32", "convert it: iconv -f UTF-32 -t UTF-8 {}"}},
    {"\0\0\xfe\xff"sv, {"text in UTF-32", "convert it: iconv -f UTF-32 -t UTF-8 {}"}},
    {"\xff\xfe"sv, {"text in UTF-16", "convert it: iconv -f UTF-16 -t UTF-8 {}"}},
    {"\xfe\xff"sv, {"text in UTF-16", "convert it: iconv -f UTF-16 -t UTF-8 {}"}},
    {"\x1f\x8b\x08"sv, {"compressed by gzip", "unpack it: gzip -dk {}"}},
    {"\x28\xb5\x2f\xfd"sv, {"compressed by zstd", "unpack it: zstd -d {}"}},
    {"\xfd\x37zXZ\0"sv, {"compressed by xz", "unpack it: xz -dk {}"}},
    {"\x1f\x9d\x90"sv, {"compressed by compress", "unpack it: gzip -dk {}"}},
    {"\x04\x22\x4d\x18"sv, {"compressed by lz4", "unpack it: lz4 -d {}"}},
    {"7z\xbc\xaf\x27\x1c"sv, {"a 7-Zip archive", "unpack it: 7z x {}"}},
    {"Rar!\x1a\x07"sv, {"a RAR archive", "unpack it: unrar x {}"}},
    {"PK\x03\x04"sv, {"a zip archive", "unpack it: unzip {}"}},
    {"PK\x05\x06"sv, {"an empty zip archive", "copy the file again"}},
    {"ustar"sv, {"a tar archive", "unpack it: tar -xf {}"}, 257},
    {"!<arch>\n"sv, {"an ar archive", "unpack it: ar x {}"}},
    {"07070"sv, {"a cpio archive", "unpack it: cpio -idm < {}"}},
    {"PAR1"sv, {"a Parquet file", "convert it: scripts/parquet_to_jsonl {}"}},
    {"PARE"sv, {"an encrypted Parquet file", "write it again without encryption"}},
    {"ARROW1\0"sv, {"an Arrow file", "write it as lines of JSON: datasets' to_json()"}},
    {"FEA1"sv, {"a Feather file", "write it as lines of JSON: pandas' to_json(lines=True)"}},
    {"\xff\xff\xff\xff\x10\0\0\0"sv,
     {"an Arrow stream", "write it as lines of JSON: datasets' to_json()"}},
    {"Obj\x01"sv, {"an Avro file", "write it as lines of JSON"}},
    {"SQLite format 3\0"sv, {"an SQLite database", "write its text to a file"}},
    {"\x89HDF\r\n\x1a\n"sv, {"an HDF5 file", "write it as safetensors: save_pretrained()"}},
    {"\n\x05<unk>\x15"sv,
     {"a SentencePiece model", "a tokenizer belongs in data.tokenizer, as tokenizer.json"},
     2},
    {"GGUF"sv, {"a GGUF file", "use the model that it was converted from"}},
    {"\x93NUMPY"sv, {"a NumPy array", "tokens belong in data.train", true}},
    {"\x88\xd8\x34\x01"sv, {"a token shard of llm.c", "tokens belong in data.train", true}},
    {"\xa1\xd9\x34\x01"sv, {"a token shard of llm.c", "tokens belong in data.train", true}},
    {"LITPKDS"sv, {"a shard of lit-gpt", kSaveTokens}},
    {"MMIDIDX\0\0"sv, {"an index of Megatron-LM", kSaveIndexed}},
    {"TNTIDX\0\0"sv, {"an index of fairseq", kSaveIndexed}},
    {"\xc6\xd7\x34\x01"sv, {"a model of llm.c", "models belong in init_from"}},
    {"%PDF-"sv, {"a PDF", "extract its text: pdftotext {}"}},
    {"\x89PNG\r\n\x1a\n"sv, {"a PNG image"}},
    {"\xff\xd8\xff"sv, {"a JPEG image"}},
    {"GIF87a"sv, {"a GIF image"}},
    {"GIF89a"sv, {"a GIF image"}},
    {"II*\0"sv, {"a TIFF image"}},
    {"MM\0*"sv, {"a TIFF image"}},
    {"RIFF"sv, {"a WebP image, a WAVE or an AVI file"}},
    {"OggS\0"sv, {"an Ogg file"}},
    {"ftyp"sv, {"an MP4 file"}, 4},
    {"\x7f\x45LF"sv, {"a program or a library"}},
    {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"sv,
     {"an old Microsoft Office file", "save it as plain text"}},
};

constexpr FileKind kPyTorch = {"a file of torch.save", kUnpackPyTorch};
constexpr FileKind kPickle = {
    "a pickle",
    "write its texts as lines of JSON, or its weights as docs/formats/nanogpt-model.md "
    "says"};
constexpr FileKind kSafetensors = {"a safetensors file",
                                   "name the directory of the model in init_from"};
constexpr FileKind kAnnexLink = {"a git-annex pointer and not the file itself",
                                 "fetch the file: git annex get {}"};
constexpr FileKind kBzip2 = {"compressed by bzip2", "unpack it: bzip2 -dk {}"};
constexpr FileKind kOffsetShard = {"a shard of litdata or of MosaicML's streaming", kSaveTokens};
constexpr FileKind kNumPyArchive = {"an archive of NumPy arrays (.npz)", "save one array: np.save"};

bool IsControl(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 && c != '\t' && c != '\n' && c != '\r' && c != '\f' && c != '\x1b';
}

bool IsLetters(std::string_view magic) {
  return std::none_of(magic.begin(), magic.end(),
                      [](char c) { return IsControl(c) || static_cast<unsigned char>(c) > 0x7e; });
}

bool Matches(const Magic& magic, std::string_view begin) {
  if (begin.size() < magic.offset || !begin.substr(magic.offset).starts_with(magic.bytes)) {
    return false;
  }
  const bool sure = magic.bytes.size() >= 8 || !IsLetters(magic.bytes) || magic.bytes == "%PDF-";
  return sure || std::any_of(begin.begin(), begin.end(), IsControl);
}

// Whether the text is the target of a link to a git-annex file: git writes it instead of the link
// on a file system without links.
bool IsAnnexLink(std::string_view begin) {
  return (begin.starts_with("../") || begin.starts_with(".git/")) && begin.size() < kKindBytes &&
         begin.find(".git/annex/objects/") != std::string_view::npos;
}

// Safetensors files begin with the header's length in 8 bytes, then a JSON object whose keys are
// names of tensors.
bool IsSafetensors(std::string_view begin) {
  constexpr size_t kLengthBytes = 8;
  if (begin.size() < kLengthBytes + 2) return false;
  const bool short_header = begin.substr(4, 4) == "\0\0\0\0"sv;
  return short_header &&
         (begin.substr(kLengthBytes, 2) == "{\"" || begin.substr(kLengthBytes, 2) == "{}");
}

uint32_t Uint32At(std::string_view bytes, size_t index) {
  uint32_t value = 0;
  std::memcpy(&value, bytes.data() + index * sizeof value, sizeof value);
  return value;
}

// Such a shard begins with a count of items, then the offset of each item and of the end. The first
// item follows the offsets.
bool IsOffsetShard(std::string_view begin) {
  constexpr size_t kWidth = sizeof(uint32_t);
  // Fewer offsets could be tokens that happen to be in ascending order.
  constexpr uint64_t kCountMin = 8;
  if (begin.size() < (kCountMin + 2) * kWidth) return false;
  const uint64_t count = Uint32At(begin, 0);
  if (count < kCountMin || Uint32At(begin, 1) != (count + 2) * kWidth) return false;
  const size_t known = static_cast<size_t>(std::min<uint64_t>(count + 2, begin.size() / kWidth));
  for (size_t i = 2; i < known; ++i) {
    if (Uint32At(begin, i) < Uint32At(begin, i - 1)) return false;
  }
  return true;
}

// A pickle begins with its protocol, 2 to 5, then the opcode of a frame, a number or the beginning
// of a container.
bool IsPickle(std::string_view begin) {
  constexpr std::string_view kOpcodes = "\x95\x8a\x8c}](cXU";
  return begin.size() > 2 && begin[0] == '\x80' && begin[1] >= 2 && begin[1] <= 5 &&
         kOpcodes.find(begin[2]) != std::string_view::npos;
}

const FileKind* KindOfZip(std::string_view begin, const FileKind& zip) {
  if (begin.find("data.pkl") != std::string_view::npos) return &kPyTorch;
  const bool npz = begin.substr(0, 128).find(".npy") != std::string_view::npos;
  return npz ? &kNumPyArchive : &zip;
}

}  // namespace

const FileKind* RecogniseKind(std::string_view begin) {
  const bool whole = begin.size() < kKindBytes;
  begin = begin.substr(0, kKindBytes);
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (begin.starts_with(kByteOrderMark)) begin.remove_prefix(kByteOrderMark.size());
  // An editor may have put an empty line before a Git LFS pointer.
  const std::string_view line =
      begin.substr(std::min(begin.find_first_not_of("\r\n "), begin.size()));
  if (line.starts_with("version https://git-lfs")) begin = line;
  for (const Magic& magic : kMagics) {
    if (!Matches(magic, begin)) continue;
    return magic.bytes == "PK\x03\x04" ? KindOfZip(begin, magic.kind) : &magic.kind;
  }
  if (IsAnnexLink(begin)) return &kAnnexLink;
  if (IsSafetensors(begin)) return &kSafetensors;
  if (IsOffsetShard(begin)) return &kOffsetShard;
  if (IsPickle(begin)) return &kPickle;
  if (begin.starts_with("BZh") && begin.substr(4, 6) == "1AY&SY") return &kBzip2;
  return IsOldPickle(begin, whole) ? &kPickle : nullptr;
}

Status RefuseOtherKinds(const std::string& path, std::string_view begin,
                        std::string_view expected) {
  const FileKind* const kind = RecogniseKind(begin);
  if (kind == nullptr || kind->what == expected) return OkStatus();
  return InvalidArgument("{} is {}, expected {}{}", path, kind->what, expected,
                         kind->way.empty() ? "" : "; " + WayFor(kind->way, path));
}

Status RefuseOtherKinds(const RandomAccessFile& file, std::string_view expected) {
  std::string begin(std::min<uint64_t>(kKindBytes, file.size_bytes()), '\0');
  RETURN_IF_ERROR(file.Read(0, begin));
  return RefuseOtherKinds(file.path(), begin, expected);
}

Status RefuseOtherText(const std::string& path, std::string_view begin, std::string_view expected) {
  RETURN_IF_ERROR(RefuseOtherKinds(path, begin, expected));
  const auto encoding = WideEncodingOfAscii(begin);
  if (!encoding) return OkStatus();
  return InvalidArgument(
      "{} is text in {}, expected {}; {}", path, *encoding, expected,
      WayFor(fmt::format("convert it: iconv -f {} -t UTF-8 {{}}", *encoding), path));
}

}  // namespace gp::formats
