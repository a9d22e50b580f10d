// Reference for kernel tests: causal attention in double, one head at a time.
#pragma once

#include <vector>

#include "worker/engine/backend/cuda/device_array.h"
#include "worker/engine/backend/cuda/kernels/dropout_reference.h"

namespace gp::engine {

class PlainAttention {
 public:
  PlainAttention(const AttentionShape& shape, const DeviceArray& qkv, const KeyedDropout& dropout)
      : shape_(shape), qkv_(qkv), dropout_(dropout) {}

  // Computes the output with dropout for every position, the logarithm of each softmax denominator,
  // and the gradient of sum(out * dout).
  void Run(const DeviceArray& dout) {
    out.assign(static_cast<size_t>(qkv_.size() / 3), 0);
    dqkv.assign(static_cast<size_t>(qkv_.size()), 0);
    lse.assign(static_cast<size_t>(shape_.sequences * shape_.heads * shape_.length), 0);
    for (int64_t b = 0; b < shape_.sequences; ++b) {
      for (int64_t h = 0; h < shape_.heads; ++h) {
        for (int64_t i = 0; i < shape_.length; ++i) Query(b, h, i, dout);
      }
    }
  }

  std::vector<double> out;   // (B*T, C)
  std::vector<double> lse;   // (B, H, T)
  std::vector<double> dqkv;  // (B*T, 3*C)

 private:
  int64_t At(int64_t b, int64_t t, int64_t part, int64_t h, int64_t d) const {
    return ((b * shape_.length + t) * 3 + part) * shape_.channels() + h * shape_.head_size + d;
  }
  double Dot(int64_t first, int64_t second) const {
    double sum = 0;
    for (int64_t d = 0; d < shape_.head_size; ++d) {
      sum += double{qkv_.at(first + d)} * qkv_.at(second + d);
    }
    return sum;
  }

  void Query(int64_t b, int64_t h, int64_t i, const DeviceArray& dout) {
    const double scale = 1 / std::sqrt(static_cast<double>(shape_.head_size));
    std::vector<double> p;
    double sum = 0;
    for (int64_t j = 0; j <= i; ++j) {
      p.push_back(std::exp(Dot(At(b, i, 0, h, 0), At(b, j, 1, h, 0)) * scale));
      sum += p.back();
    }
    const int64_t row = (b * shape_.heads + h) * shape_.length + i;
    lse[static_cast<size_t>(row)] = std::log(sum);
    std::vector<double> dp(p.size());
    double dot = 0;
    const int64_t first = (b * shape_.length + i) * shape_.channels() + h * shape_.head_size;
    for (int64_t j = 0; j <= i; ++j) {
      const auto k = static_cast<size_t>(j);
      p[k] /= sum;
      const double mask = dropout_.At(row, j);
      for (int64_t d = 0; d < shape_.head_size; ++d) {
        const double value = qkv_.at(At(b, j, 2, h, d));
        out[static_cast<size_t>(first + d)] += p[k] * mask * value;
        dp[k] += mask * dout.at(first + d) * value;
        dqkv[static_cast<size_t>(At(b, j, 2, h, d))] += p[k] * mask * dout.at(first + d);
      }
      dot += p[k] * dp[k];
    }
    for (int64_t j = 0; j <= i; ++j) {
      const auto k = static_cast<size_t>(j);
      const double ds = p[k] * (dp[k] - dot) * scale;
      for (int64_t d = 0; d < shape_.head_size; ++d) {
        dqkv[static_cast<size_t>(At(b, i, 0, h, d))] += ds * qkv_.at(At(b, j, 1, h, d));
        dqkv[static_cast<size_t>(At(b, j, 1, h, d))] += ds * qkv_.at(At(b, i, 0, h, d));
      }
    }
  }

  AttentionShape shape_;
  const DeviceArray& qkv_;
  const KeyedDropout& dropout_;
};

}  // namespace gp::engine
