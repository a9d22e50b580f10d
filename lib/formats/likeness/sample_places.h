// Chooses where to inspect a large file besides its beginning: if it was joined from others, cut
// short or partly overwritten, it has other content there. Pure; any thread may call.
#pragma once

#include <cstdint>
#include <vector>

namespace gp::formats {

// The offsets of at most seven pieces of kLikenessBytes (formats/likeness/likeness.h) after the
// first one, spread evenly; the last piece ends with the file and may be a few bytes shorter. Fewer
// if they cover the whole file. Each begins at a multiple of 24: at the first byte of a number or a
// record.
std::vector<uint64_t> SamplePlaces(uint64_t size_bytes);

}  // namespace gp::formats
