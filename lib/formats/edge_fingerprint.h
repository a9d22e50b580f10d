// A fingerprint that distinguishes large data files without reading them completely: a digest of
// the size, the first and the last 64 KiB. Reads the disk; any thread may call.
#pragma once

#include <string>

#include "base/status.h"
#include "formats/random_access_file.h"

namespace gp::formats {

StatusOr<std::string> EdgeFingerprint(const RandomAccessFile& file);

}  // namespace gp::formats
