#include "formats/edge_fingerprint.h"

#include <algorithm>

#include "formats/sha256.h"

namespace gp::formats {
namespace {

constexpr uint64_t kEdgeBytes = 1 << 16;

}  // namespace

StatusOr<std::string> EdgeFingerprint(const RandomAccessFile& file) {
  const uint64_t size = file.size_bytes();
  std::string edge(std::min(size, kEdgeBytes), '\0');
  Sha256 sha;
  sha.Update(fmt::format("{}:", size));
  for (const uint64_t offset : {uint64_t{0}, size - edge.size()}) {
    RETURN_IF_ERROR(file.Read(offset, edge));
    sha.Update(edge);
  }
  return sha.Finish();
}

}  // namespace gp::formats
