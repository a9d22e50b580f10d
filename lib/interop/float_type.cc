#include "interop/float_type.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "base/check.h"

namespace gp::interop {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr uint32_t kExponentF32 = 0x7f800000u;

float FromBf16(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

// A subnormal's value is its mantissa times 2^-24.
float FromF16(uint16_t bits) {
  const uint32_t sign = uint32_t{bits & 0x8000u} << 16;
  const uint32_t exponent = (bits >> 10) & 0x1fu;
  const uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
  }
  const uint32_t widened = exponent == 0x1f ? 0xffu : exponent + 112;
  return std::bit_cast<float>(sign | widened << 23 | mantissa << 13);
}

uint16_t ToBf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const bool nan = (bits & kExponentF32) == kExponentF32 && (bits & 0x7fffffu) != 0;
  if (nan) return static_cast<uint16_t>(bits >> 16 | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

template <typename Convert>
void WidenHalves(std::string_view bytes, std::span<float> values, Convert convert) {
  for (size_t i = 0; i < values.size(); ++i) {
    uint16_t half = 0;
    std::memcpy(&half, bytes.data() + 2 * i, sizeof half);
    values[i] = convert(half);
  }
}

}  // namespace

std::string_view FloatTypeName(FloatType type) {
  if (type == FloatType::kF16) return "F16";
  return type == FloatType::kBf16 ? "BF16" : "F32";
}

std::optional<FloatType> FloatTypeOf(std::string_view name) {
  for (const FloatType type : {FloatType::kF32, FloatType::kF16, FloatType::kBf16}) {
    if (name == FloatTypeName(type)) return type;
  }
  return std::nullopt;
}

int64_t FloatBytes(FloatType type) { return type == FloatType::kF32 ? 4 : 2; }

void Widen(FloatType type, std::string_view bytes, std::span<float> values) {
  GP_CHECK(bytes.size() == values.size() * static_cast<size_t>(FloatBytes(type)));
  if (values.empty()) return;
  if (type == FloatType::kF32) {
    std::memcpy(values.data(), bytes.data(), bytes.size());
  } else {
    WidenHalves(bytes, values, type == FloatType::kF16 ? &FromF16 : &FromBf16);
  }
}

void AppendAs(FloatType type, std::span<const float> values, std::string& bytes) {
  GP_CHECK(type != FloatType::kF16, "cannot write values as F16");
  if (type == FloatType::kF32) {
    bytes.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
    return;
  }
  const size_t begin = bytes.size();
  bytes.resize(begin + 2 * values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const uint16_t half = ToBf16(values[i]);
    std::memcpy(bytes.data() + begin + 2 * i, &half, sizeof half);
  }
}

std::optional<size_t> FirstNotFinite(std::span<const float> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) return i;
  }
  return std::nullopt;
}

}  // namespace gp::interop
