#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numbers>
#include <span>
#include <string>
#include <vector>

#include "base/mix_bits.h"
#include "worker/engine/backend/cpu/thread_pool.h"
#include "worker/engine/model/make_language_model.h"

namespace gp::engine {
namespace {

constexpr int64_t kPiece = int64_t{1} << 20;  // elements that the host draws at a time
constexpr int64_t kGrain = int64_t{1} << 12;  // elements that one thread draws at least

bool EndsWith(const std::string& name, const std::string& suffix) {
  return name.size() >= suffix.size() && name.ends_with(suffix);
}

double DeviationOf(const std::string& name, int64_t layers) {
  const double scale = std::sqrt(2.0 * static_cast<double>(layers));
  return EndsWith(name, "c_proj.weight") ? 0.02 / scale : 0.02;
}

// The functions below use only operations that IEEE 754 rounds exactly, one by one (this file is
// compiled without contraction), so that a seed gives the same bits on every processor; libm's
// results depend on the available instructions. Both are within a few units of fp64's last place.

// ln x of a positive normal x: 2 atanh((m - 1) / (m + 1)) + e ln 2 with m in [sqrt(1/2), sqrt(2)).
double ExactLog(double x) {
  const auto bits = std::bit_cast<uint64_t>(x);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0x000fffffffffffffu) | 0x3ff0000000000000u);
  if (m >= std::numbers::sqrt2) {
    m *= 0.5;
    ++exponent;
  }
  const double s = (m - 1) / (m + 1);
  const double s2 = s * s;
  double series = 0;  // s^2 is below 0.03: the first omitted term is below 1e-20
  for (int k = 25; k >= 3; k -= 2) series = (series + 1.0 / k) * s2;
  return 2 * s + 2 * s * series + exponent * std::numbers::ln2;
}

// cos(2 pi v) for v in [0, 1): the nearest quarter turn, and a Taylor series for the remaining
// angle.
double ExactCosineOfTurn(double v) {
  const double quarters = 4 * v;
  const auto nearest = static_cast<int>(quarters + 0.5);
  const double angle = (quarters - nearest) * (std::numbers::pi / 2);
  const double square = angle * angle;
  const bool odd = nearest % 2 != 0;
  double series = 1;  // 1 - x^2/d (1 - x^2/d' (1 - ...))
  for (int k = 20; k >= 2; k -= 2) {
    const double divisor = odd ? k * (k + 1.0) : k * (k - 1.0);
    series = 1 - square / divisor * series;
  }
  const double value = odd ? angle * series : series;
  return nearest % 4 == 1 || nearest % 4 == 2 ? -value : value;
}

// A standard normal value: Box & Muller 1958 on two keyed uniforms, the first in (0, 1].
double KeyedNormal(uint64_t key, uint64_t index) {
  const uint64_t first = MixBits(key ^ (2 * index));
  const uint64_t second = MixBits(key ^ (2 * index + 1));
  const double u = static_cast<double>((first >> 11) + 1) * 0x1.0p-53;
  const double v = static_cast<double>(second >> 11) * 0x1.0p-53;
  return std::sqrt(-2 * ExactLog(u)) * ExactCosineOfTurn(v);
}

// Writes the initial values of a tensor's elements from `first` on.
using FillInitial = std::function<void(int64_t first, std::span<float> values)>;

FillInitial InitialOf(const runspec::ParameterInfo& tensor, const runspec::ModelShape& shape,
                      uint64_t key) {
  if (!tensor.decayed) {
    const float value = EndsWith(tensor.name, ".weight") ? 1.0f : 0.0f;
    return [value](int64_t, std::span<float> values) { std::ranges::fill(values, value); };
  }
  const bool has_padding = tensor.name == "wte.weight" || tensor.name == "lm_head.weight";
  const int64_t drawn = has_padding ? shape.vocabulary * shape.channels : tensor.count;
  const double deviation = DeviationOf(tensor.name, shape.layers);
  return [=](int64_t first, std::span<float> values) {
    for (float& value : values) {
      const auto index = static_cast<uint64_t>(first);
      value = first < drawn ? static_cast<float>(deviation * KeyedNormal(key, index)) : 0.0f;
      ++first;
    }
  };
}

}  // namespace

// Works piece by piece, because the host may be unable to access the parameters. Each value depends
// only on its place, so any thread may draw it.
void InitializeNormal(uint64_t seed, LanguageModel& model, int threads) {
  ThreadPool pool(threads);
  std::vector<float> piece(kPiece);
  uint64_t tensor_number = 0;
  for (const runspec::ParameterInfo& tensor : model.layout().tensors) {
    const uint64_t key = MixBits(MixBits(seed) ^ ++tensor_number);
    const FillInitial fill = InitialOf(tensor, model.shape(), key);
    float* values = model.parameters().data() + tensor.offset;
    for (int64_t first = 0; first < tensor.count; first += kPiece) {
      const int64_t count = std::min(kPiece, tensor.count - first);
      pool.For(count, kGrain, [&](int64_t begin, int64_t end) {
        fill(first + begin, std::span(piece).subspan(static_cast<size_t>(begin),
                                                     static_cast<size_t>(end - begin)));
      });
      model.backend().Upload(values + first, piece.data(),
                             count * static_cast<int64_t>(sizeof(float)));
    }
  }
  model.ParametersChanged();
}

}  // namespace gp::engine
