#include "worker/bench/noise.h"

#include <algorithm>
#include <random>

namespace gp::engine {
namespace {

constexpr int64_t kBlock = 1 << 20;

}  // namespace

NoiseSource::NoiseSource(Backend& backend) : backend_(backend), block_(kBlock) {
  std::mt19937 random(1);
  for (float& value : block_) value = static_cast<float>(random() % 2001) * 2e-4f - 0.2f;
  backend_block_ = static_cast<float*>(backend_.Allocate(kBlock * 4));
  backend_.Upload(backend_block_, block_.data(), kBlock * 4);
}

Buffer NoiseSource::Values(int64_t count, DataType type) {
  const Buffer buffer{backend_.Allocate(count * BytesOf(type)), type};
  for (int64_t first = 0; first < count; first += kBlock) {
    const int64_t piece = std::min(kBlock, count - first);
    if (type == DataType::kFloat32) {
      backend_.Copy(buffer.From(first).data, backend_block_, piece * 4);
    } else {
      backend_.Round(piece, buffer.From(first), backend_block_, {});
    }
  }
  return buffer;
}

int32_t* NoiseSource::Ids(int64_t count, int64_t vocabulary) {
  std::mt19937 random(2);
  std::vector<int32_t> ids(static_cast<size_t>(count));
  for (int32_t& id : ids) id = static_cast<int32_t>(random() % static_cast<uint64_t>(vocabulary));
  auto* placed = static_cast<int32_t*>(backend_.Allocate(count * 4));
  backend_.Upload(placed, ids.data(), count * 4);
  return placed;
}

}  // namespace gp::engine
