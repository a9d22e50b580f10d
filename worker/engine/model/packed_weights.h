// PackedWeights: the weights of a decoder that owns them. Matrices are in the compute type and
// packed for their products (Backend::Pack); weights that are read in fp32 are in fp32; there is no
// other copy. runspec::MakeDecoderPlan, with `own_weights`, gives their place. One thread calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "plan/arena_plan.h"
#include "plan/model_shape.h"
#include "worker/engine/backend/backend.h"

namespace gp::engine {

class PackedWeights {
 public:
  // `arena` is `plan`'s memory, of `backend`, which must outlive this object. Every weight is 0.
  PackedWeights(const runspec::ModelShape& shape, const runspec::ArenaPlan& plan, std::byte* arena,
                Backend& backend);

  // Takes one tensor's values, in host memory. Throws std::invalid_argument for a name or a number
  // of values that is not the model's.
  void Set(const std::string& name, std::span<const float> values);

  // By offsets in runspec::ParameterLayout. A matrix is packed; a vector has the compute type;
  // embeddings and the vectors of LayerNorm are read in fp32.
  Buffer Matrix(int64_t offset) const { return matrices_.at(offset); }
  Buffer Vector(int64_t offset) const { return vectors_.From(offset - vectors_offset_); }
  const float* Fp32(int64_t offset) const;

 private:
  void SetVector(int64_t offset, std::span<const float> values);
  // Packs a matrix piece by piece, through the staging memory.
  void SetMatrix(Buffer packed, int64_t in, std::span<const float> values);
  void Upload(float* to, std::span<const float> values);
  // Converts the fp32 values in the staging memory to the compute type.
  Buffer Staged(int64_t count);

  const runspec::ParameterLayout layout_;
  Backend& backend_;
  const int64_t vectors_offset_;
  std::map<int64_t, Buffer> matrices_;    // by offset
  std::map<int64_t, float*> embeddings_;  // by offset
  float* vectors_fp32_ = nullptr;
  Buffer vectors_;
  float* staging_ = nullptr;
  Buffer staging_compute_;  // equal to staging_ when the compute type is fp32
};

}  // namespace gp::engine
