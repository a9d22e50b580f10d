#include "formats/likeness/sample_places.h"

#include <algorithm>

#include "formats/likeness/likeness.h"

namespace gp::formats {
namespace {

constexpr uint64_t kPlacesMax = 7;
constexpr uint64_t kPlaceAlignment =
    24;  // fits records of 2, 3 or 4 words and numbers of up to 8 bytes

}  // namespace

std::vector<uint64_t> SamplePlaces(uint64_t size_bytes) {
  if (size_bytes <= kLikenessBytes) return {};
  const uint64_t last =
      (size_bytes - kLikenessBytes + kPlaceAlignment - 1) / kPlaceAlignment * kPlaceAlignment;
  const uint64_t count = std::min(kPlacesMax, (last + kLikenessBytes - 1) / kLikenessBytes);
  std::vector<uint64_t> places;
  for (uint64_t i = 1; i <= count; ++i) {
    places.push_back(last / count * i / kPlaceAlignment * kPlaceAlignment);
  }
  places.back() = last;
  return places;
}

}  // namespace gp::formats
