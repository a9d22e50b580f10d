#include "worker/engine/model/packed_weights.h"

#include <algorithm>
#include <stdexcept>

#include "plan/decoder_plan.h"
#include "worker/engine/model/gpt2_buffers.h"

namespace gp::engine {

PackedWeights::PackedWeights(const runspec::ModelShape& shape, const runspec::ArenaPlan& plan,
                             std::byte* arena, Backend& backend)
    : layout_(runspec::MakeParameterLayout(shape)),
      backend_(backend),
      vectors_offset_(layout_.decayed_count) {
  const auto get = [&](const std::string& name) {
    const runspec::ArenaTensor& tensor = plan.at(name);
    return Buffer{arena + tensor.offset_bytes, DataTypeOf(tensor)};
  };
  const auto get_if_any = [&](const std::string& name, Buffer otherwise) {
    return plan.has(name) ? get(name) : otherwise;
  };
  for (const runspec::ParameterInfo& tensor : layout_.tensors) {
    const std::string packed = runspec::kPackedPrefix + tensor.name;
    if (plan.has(packed)) matrices_[tensor.offset] = get(packed);
    if (plan.has(tensor.name)) embeddings_[tensor.offset] = get(tensor.name).f32();
  }
  vectors_fp32_ = get("vectors").f32();
  vectors_ = get_if_any("vectors.compute", gp::engine::Fp32(vectors_fp32_));
  staging_ = get("staging").f32();
  staging_compute_ = get_if_any("staging.compute", gp::engine::Fp32(staging_));
}

void PackedWeights::Set(const std::string& name, std::span<const float> values) {
  const auto found = std::ranges::find(layout_.tensors, name, &runspec::ParameterInfo::name);
  if (found == layout_.tensors.end() || found->count != std::ssize(values)) {
    throw std::invalid_argument("the model has no parameter '" + name + "' of " +
                                std::to_string(values.size()) + " values");
  }
  if (!found->decayed) return SetVector(found->offset, values);
  const auto embedding = embeddings_.find(found->offset);
  if (embedding != embeddings_.end()) Upload(embedding->second, values);
  const auto matrix = matrices_.find(found->offset);
  if (matrix != matrices_.end()) SetMatrix(matrix->second, found->shape[1], values);
}

const float* PackedWeights::Fp32(int64_t offset) const {
  if (offset >= vectors_offset_) return vectors_fp32_ + (offset - vectors_offset_);
  return embeddings_.at(offset);
}

void PackedWeights::SetVector(int64_t offset, std::span<const float> values) {
  float* to = vectors_fp32_ + (offset - vectors_offset_);
  Upload(to, values);
  if (vectors_.type == DataType::kFloat32) return;
  backend_.Round(std::ssize(values), Vector(offset), to, StochasticRounding{});
}

void PackedWeights::SetMatrix(Buffer packed, int64_t in, std::span<const float> values) {
  const int64_t rows = std::ssize(values) / in;
  for (int64_t first = 0; first < rows; first += runspec::kPackedPieceRows) {
    const int64_t count = std::min(runspec::kPackedPieceRows, rows - first);
    Upload(staging_,
           values.subspan(static_cast<size_t>(first * in), static_cast<size_t>(count * in)));
    backend_.Pack({in, first, count, packed, Staged(count * in)});
  }
}

void PackedWeights::Upload(float* to, std::span<const float> values) {
  backend_.Upload(to, values.data(), static_cast<int64_t>(values.size_bytes()));
}

Buffer PackedWeights::Staged(int64_t count) {
  if (staging_compute_.type != DataType::kFloat32) {
    backend_.Round(count, staging_compute_, staging_, StochasticRounding{});
  }
  return staging_compute_;
}

}  // namespace gp::engine
