// How other programs' files store weights, and their conversion from and to fp32, gp's only type
// for master weights. Little endian throughout. Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

namespace gp::interop {

enum class FloatType { kF32, kF16, kBf16 };

// "F32", "F16", "BF16": safetensors' names.
std::string_view FloatTypeName(FloatType type);
std::optional<FloatType> FloatTypeOf(std::string_view name);
int64_t FloatBytes(FloatType type);

// The values of `bytes`, exactly. REQUIRES: bytes.size() == values.size() * FloatBytes(type).
void Widen(FloatType type, std::string_view bytes, std::span<float> values);

// The bytes of `values`, appended to `bytes`; for kBf16 rounded to nearest, ties to even. REQUIRES:
// `type` is not kF16, a type that gp reads but never writes.
void AppendAs(FloatType type, std::span<const float> values, std::string& bytes);

// The index of the first value that is NaN or infinite; nullopt when all are finite.
std::optional<size_t> FirstNotFinite(std::span<const float> values);

}  // namespace gp::interop
