// TextStream: the text of a file from its front: plain, or packed by gzip or zstd, told apart by
// its first bytes. It is unpacked on the way, in bounded memory whatever the file says of itself.
// Belongs to one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/file.h"
#include "base/status.h"

namespace gp::formats {

class TextStream {
 public:
  // InvalidArgument for a directory and for what another program packed, with the command that
  // unpacks it.
  static StatusOr<TextStream> Open(const std::string& path);
  // From where `file` stands; `name` is what errors call it: "standard input".
  static StatusOr<TextStream> FromDescriptor(FileDescriptor file, const std::string& name);

  TextStream(TextStream&&) noexcept;
  TextStream& operator=(TextStream&&) noexcept;
  ~TextStream();

  // Fills `to` as far as the text goes: fewer bytes only at its end. InvalidArgument names the byte
  // of the file where it is damaged or cut short.
  StatusOr<size_t> Read(std::span<char> to);

  // Goes over `bytes` of text: seeks where the file is plain, reads otherwise. DataLoss when the
  // text ends before. REQUIRES: nothing was read.
  Status Skip(uint64_t bytes);

  // How far the file itself was read, in bytes; for progress.
  uint64_t file_offset() const;

 private:
  class Source;
  class Unpacker;
  class GzipUnpacker;
  class ZstdUnpacker;

  explicit TextStream(std::unique_ptr<Source> source);
  Status ChooseUnpacker();

  std::unique_ptr<Source> source_;
  std::unique_ptr<Unpacker> unpacker_;  // null for plain text
};

}  // namespace gp::formats
