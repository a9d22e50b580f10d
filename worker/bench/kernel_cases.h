// KernelCases: the operations of a training step at a model's shapes, on buffers of plausible
// values, with their numbers of floating-point operations and bytes. `gp-bench kernels` times them.
// Owned by the bench; one thread calls.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "worker/bench/noise.h"
#include "worker/engine/backend/backend.h"
#include "worker/engine/model/make_language_model.h"

namespace gp::engine {

struct KernelCase {
  std::string name;      // "c_attn forward"
  std::string shape;     // "256 x 768 x 2304"
  double flops = 0;      // 0: the operation is limited by memory
  double bytes = 0;      // bytes that must be read and written at least
  bool product = false;  // a matrix product of a Linear layer
  int calls_per_step = 1;
  std::function<void()> run;
};

class KernelCases {
 public:
  explicit KernelCases(const ModelOptions& options);

  const std::vector<KernelCase>& cases() const { return cases_; }
  Backend& backend() { return *backend_; }

 private:
  // `sums_dy`: as in a step, dW also gives the gradient of the bias.
  void AddLinear(const std::string& name, LinearShape shape, bool gelu, int calls,
                 bool sums_dy = false);
  void AddAttention();
  void AddLayerNorm();
  void AddGelu();
  void AddCrossEntropy();
  void AddEmbedding();
  void AddFlat();

  // Memory of the backend, filled with values around zero.
  Buffer Activation(int64_t count) { return noise_.Values(count, type_); }
  float* Values(int64_t count) { return noise_.Values(count, DataType::kFloat32).f32(); }
  void Add(std::string name, std::string shape, KernelCase work);

  const ModelOptions options_;
  const DataType type_;
  const int64_t rows_;  // N = B*T
  std::unique_ptr<Backend> backend_;
  NoiseSource noise_;
  std::vector<KernelCase> cases_;
};

}  // namespace gp::engine
