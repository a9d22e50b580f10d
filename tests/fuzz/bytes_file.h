// A file in memory, for parsers that open paths. Not thread-safe.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "base/file.h"

namespace gp {

class BytesFile {
 public:
  BytesFile(const uint8_t* data, size_t size) : file_(memfd_create("input", MFD_CLOEXEC)) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    GP_CHECK(file_.valid() && WriteAll(file_.get(), bytes, path()).ok());
  }

  std::string path() const { return "/proc/self/fd/" + std::to_string(file_.get()); }

 private:
  FileDescriptor file_;
};

}  // namespace gp
