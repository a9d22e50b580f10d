#include "formats/file_kind.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "formats/token_shard.h"

namespace gp::formats {
namespace {

using namespace std::string_literals;

std::string KindOf(const std::string& begin) {
  const FileKind* kind = RecogniseKind(begin);
  return kind == nullptr ? "none" : std::string(kind->what);
}

// The beginning of a tar file: a name, fields of digits and zeros, then the magic number.
std::string Tar() {
  std::string header(512, '\0');
  header.replace(0, 8, "text.txt");
  header.replace(257, 6, "ustar\0"s);
  return header;
}

// A file of `count` items of 16 bytes: the count, the offset of each item and the end, then the
// items.
std::string Offsets(uint32_t count) {
  std::string shard;
  const auto add = [&](uint32_t word) {
    for (int byte = 0; byte < 4; ++byte) shard += static_cast<char>(word >> (8 * byte));
  };
  add(count);
  for (uint32_t item = 0; item <= count; ++item) add((count + 2) * 4 + item * 16);
  return shard + std::string(count * 16, 't');
}

TEST(FileKind, IsToldByTheFirstBytes) {
  const std::pair<std::string, std::string> kinds[] = {
      {"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n",
       "a Git LFS pointer and not the file itself"},
      {"version https://hawser.github.com/spec/v1\noid sha256:4d7a\nsize 12\n",
       "a Git LFS pointer and not the file itself"},
      {"\xef\xbb\xbfversion https://git-lfs.github.com/spec/v1\noid sha256:4d7a\n",
       "a Git LFS pointer and not the file itself"},
      {"/annex/objects/SHA256E-s12--4d7a.txt\n", "a git-annex pointer and not the file itself"},
      {"!<arch>\ndebian-binary   1410122664  0", "an ar archive"},
      {"070701000003E8\0"s, "a cpio archive"},
      {"LITPKDS\1\0\0\0\0\0\0\0\x08"s, "a shard of lit-gpt"},
      {"MMIDIDX\0\0\1\0\0\0"s, "an index of Megatron-LM"},
      {"TNTIDX\0\0\1\0\0\0"s, "an index of fairseq"},
      {Offsets(8), "a shard of litdata or of MosaicML's streaming"},
      {"\xff\xfet\0e\0"s, "text in UTF-16"},
      {"\xfe\xff\0t\0e"s, "text in UTF-16"},
      {"\xff\xfe\0\0t\0\0\0"s, "text in UTF-32"},
      {"\0\0\xfe\xff\0\0\0t"s, "text in UTF-32"},
      {"\x1f\x8b\x08\0"s, "compressed by gzip"},
      {"\x28\xb5\x2f\xfd\x04"s, "compressed by zstd"},
      {"\xfd\x37zXZ\0\0"s, "compressed by xz"},
      {"BZh91AY&SY\x8f"s, "compressed by bzip2"},
      {"\x04\x22\x4d\x18\x64"s, "compressed by lz4"},
      {"7z\xbc\xaf\x27\x1c\0"s, "a 7-Zip archive"},
      {"PK\x03\x04\x14\0\0\0text.txt"s, "a zip archive"},
      {"PK\x03\x04\0\0\x08\x08"
       "archive/data.pkl"s,
       "a file of torch.save"},
      {"PK\x03\x04\x14\0\0\0arr_0.npy"s, "an archive of NumPy arrays (.npz)"},
      {Tar(), "a tar archive"},
      {"PAR1\x15\x04\x15"s, "a Parquet file"},
      {"ARROW1\0\0"s, "an Arrow file"},
      {"\x89HDF\r\n\x1a\n"s, "an HDF5 file"},
      {"\x80\x02}q\0(X"s, "a pickle"},
      {"\x80\x04\x95\x2a"s, "a pickle"},
      {"\x80\x02\x8a\nl\xfc\x9c"s, "a pickle"},
      {"\x40\0\0\0\0\0\0\0{\"wte.weight\""s, "a safetensors file"},
      {"GGUF\x03\0\0\0"s, "a GGUF file"},
      {"\x93NUMPY\x01\0v\0"s, "a NumPy array"},
      {FormatLlmCShard(std::vector<int32_t>{1, 2}), "a token shard of llm.c"},
      {"%PDF-1.7\n%\xe2\xe3"s, "a PDF"},
      {"\x89PNG\r\n\x1a\n\0"s, "a PNG image"},
      {"\xff\xd8\xff\xe0"s, "a JPEG image"},
      {"GIF89a\x01\0"s, "a GIF image"},
      {"RIFF\x24\0\0\0WAVE"s, "a WebP image, a WAVE or an AVI file"},
      {"SQLite format 3\0"s, "an SQLite database"},
      {"\x7f"
       "ELF\x02\x01"s,
       "a program or a library"},
  };
  for (const auto& [begin, kind] : kinds) EXPECT_EQ(KindOf(begin), kind);
}

TEST(FileKind, AFewRisingNumbersAreTokens) { EXPECT_EQ(KindOf(Offsets(7)), "none"); }

TEST(FileKind, TextIsNone) {
  for (const std::string& text :
       {""s, "a"s, "GIF89a is a format"s, "PAR1 and PAR2"s, "RIFF: a figure"s, "BZh is no word"s,
        "GGUF, ARROW1, FEA1"s, "Obj. 1"s, "\xef\xbb\xbfwith a mark"s, "{\"text\": \"x\"}"s,
        "Straße\n"s, "version 1\n"s, "\tftyp"s}) {
    EXPECT_EQ(KindOf(text), "none") << text;
  }
}

TEST(FileKind, NeverReadsBeyondTheBytes) {
  const std::string tar = Tar();
  for (size_t size = 0; size < tar.size(); ++size) RecogniseKind(tar.substr(0, size));
}

// Case models-and-data/09: a Git LFS pointer was read as if it were the file itself.
TEST(FileKind, TheErrorSaysWhatItIsAndTheWayOut) {
  EXPECT_EQ(Message(RefuseOtherKinds("/d/x.zip", "PK\x03\x04\x14\0\0\0"s, "text")),
            "/d/x.zip is a zip archive, expected text; unpack it: unzip /d/x.zip");
  EXPECT_EQ(Message(RefuseOtherKinds("/d/x.png", "\x89PNG\r\n\x1a\n", "tokens")),
            "/d/x.png is a PNG image, expected tokens");
  EXPECT_TRUE(RefuseOtherKinds("/d/x.txt", "text", "text").ok());
}

TEST(FileKind, TextInAnotherEncodingIsNamedWithTheCommand) {
  EXPECT_EQ(Message(RefuseOtherText("/d/x.json", "\xff\xfe{\0}\0"s, "a JSON object")),
            "/d/x.json is text in UTF-16, expected a JSON object; convert it: iconv -f UTF-16 -t "
            "UTF-8 /d/x.json");
  EXPECT_EQ(
      Message(RefuseOtherText("/d/my x.json", "\0{\0}"s, "a JSON object")),
      "/d/my x.json is text in UTF-16BE, expected a JSON object; convert it: iconv -f UTF-16BE "
      "-t UTF-8 '/d/my x.json'");
  EXPECT_TRUE(RefuseOtherText("/d/x.json", "{}", "a JSON object").ok());
}

}  // namespace
}  // namespace gp::formats
