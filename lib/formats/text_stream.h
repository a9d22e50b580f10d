// TextStream: the text of a file from its beginning: plain, or packed by gzip or zstd, detected by
// its first bytes. It is unpacked while reading, in bounded memory whatever the file claims. A
// UTF-8 byte order mark is left out. Belongs to one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/status.h"
#include "formats/likeness/likeness.h"

namespace gp::formats {

class TextStream {
 public:
  // InvalidArgument for a directory and, packed or not, for files whose magic number says that they
  // are not text (formats/file_kind.h), with the command that converts them.
  static StatusOr<TextStream> Open(const std::string& path);
  // Reads from the current offset of `file`; errors call it `name`, such as "standard input".
  static StatusOr<TextStream> FromDescriptor(FileDescriptor file, const std::string& name);

  TextStream(TextStream&&) noexcept;
  TextStream& operator=(TextStream&&) noexcept;
  ~TextStream();

  // Fills `to`; returns fewer bytes only at the end of the text. InvalidArgument names the byte of
  // the file where it is damaged or cut short.
  StatusOr<size_t> Read(std::span<char> to);

  // Skips `bytes` of text, including a byte order mark: seeks if the file is plain, reads
  // otherwise. DataLoss when the text ends before. REQUIRES: nothing was read.
  Status Skip(uint64_t bytes);

  // The first kLikenessBytes of the text without its mark, or all of it, for
  // formats/likeness/likeness.h.
  std::string_view head() const;

  // What the text looks like if it does not look like text: at its beginning, and at a few later
  // places of a plain file ("binary data (…) near byte 65536"). Nullopt if it looks like text. Of
  // packed text only the beginning is examined; readers examine the rest as they unpack it.
  StatusOr<std::optional<Likeness>> Unlikeness() const;

  // Length of the byte order mark: 3, or 0 without one.
  size_t mark_bytes() const { return mark_bytes_; }

  // Bytes of the file itself read so far; for progress.
  uint64_t file_offset() const;

 private:
  class Source;
  class Unpacker;
  class GzipUnpacker;
  class ZstdUnpacker;

  explicit TextStream(std::unique_ptr<Source> source);
  Status ChooseUnpacker();
  Status ReadHead();
  StatusOr<size_t> ReadUnpacked(std::span<char> to);

  std::unique_ptr<Source> source_;
  std::unique_ptr<Unpacker> unpacker_;  // null for plain text
  std::string head_;                    // with the byte order mark
  size_t mark_bytes_ = 0;
  size_t head_taken_ = 0;
};

}  // namespace gp::formats
