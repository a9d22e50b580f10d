// GELU (Hendrycks & Gimpel 2016, arXiv:1606.08415) in both forms, its derivative, and the tile
// epilogues that use them.
#pragma once

#include <type_traits>

#include "worker/engine/backend/cpu/kernels/element.h"
#include "worker/engine/backend/cpu/kernels/kernel_set.h"
#include "worker/engine/backend/cpu/kernels/vector.h"

namespace gp::engine::GP_ISA_NAMESPACE {

// x * Phi(x), Phi the normal distribution function.
struct GeluErf {
  static Vec Value(Vec x) { return 0.5f * x * (1.0f + Erf(x * 0.70710678118654752f)); }
  // Phi(x) + x phi(x), where one exponential serves both: Phi(-t) = phi(t) times a polynomial in
  // u = 1 / (1 + 0.28 t), fitted to 1e-8 (the form of Abramowitz & Stegun 7.1.26).
  static Vec Derivative(Vec x) {
    const Vec t = Max(x, -x);
    const Vec bell = Exp(-0.5f * x * x);
    const Vec u = 1.0f / (t * 0.28f + 1.0f);
    Vec p = Splat(-0.10580714437652408f);
    p = p * u + 0.3898696959128373f;
    p = p * u + -0.23698673824960037f;
    p = p * u + 0.2689049495390667f;
    p = p * u + 0.0674987529823887f;
    p = p * u + 0.11652047501609286f;
    const Vec tail = p * u * bell;
    return (x < 0.0f ? tail : 1.0f - tail) + x * (bell * 0.39894228040143268f);
  }
};

// x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))).
struct GeluTanh {
  static Vec Inner(Vec x) { return 0.79788456080286536f * (x + 0.044715f * x * x * x); }
  static Vec Value(Vec x) { return 0.5f * x * (1.0f + Tanh(Inner(x))); }
  static Vec Derivative(Vec x) {
    const Vec t = Tanh(Inner(x));
    const Vec slope = 0.79788456080286536f * (1.0f + 3 * 0.044715f * x * x);
    return 0.5f * (1.0f + t) + 0.5f * x * (1.0f - t * t) * slope;
  }
};

template <typename Body>
inline void WithGelu(runspec::Gelu kind, Body body) {
  if (kind == runspec::Gelu::kErf) {
    body(GeluErf());
  } else {
    body(GeluTanh());
  }
}

inline void GeluRange(runspec::Gelu kind, Buffer out_buffer, Buffer in_buffer, int64_t first,
                      int64_t last) {
  WithElement(in_buffer, [&](auto* in) {
    auto* out = static_cast<decltype(in)>(out_buffer.data);
    WithGelu(kind, [&](auto gelu) {
      ForVectors(first, last, [&](int64_t i, int64_t lanes) {
        Store(out + i, gelu.Value(Load(in + i, lanes)), lanes);
      });
    });
  });
}

inline void GeluBackwardRange(runspec::Gelu kind, Buffer dy_buffer, Buffer in_buffer, int64_t first,
                              int64_t last) {
  WithElement(in_buffer, [&](auto* in) {
    auto* dy = static_cast<decltype(in)>(dy_buffer.data);
    WithGelu(kind, [&](auto gelu) {
      ForVectors(first, last, [&](int64_t i, int64_t lanes) {
        const Vec slope = gelu.Derivative(Load(in + i, lanes));
        Store(dy + i, Load(dy + i, lanes) * slope, lanes);
      });
    });
  });
}

// One row of a tile: y = tile + bias in y's type.
template <typename T>
inline void StoreWithBias(T* y, const float* tile, const T* bias, int64_t columns) {
  ForVectors(0, columns, [&](int64_t j, int64_t lanes) {
    Vec value = Load(tile + j, lanes);
    if (bias != nullptr) value = value + Load(bias + j, lanes);
    Store(y + j, value, lanes);
  });
}

// Calls body(offset of the vector in the output, lanes) for each vector of a tile at (row, column).
template <typename Body>
inline __attribute__((always_inline)) void ForTile(const TileOutput& o, int64_t row, int64_t column,
                                                   int64_t rows, int64_t columns, Body body) {
  for (int64_t r = row; r < row + rows; ++r) {
    const int64_t first = r * o.ldy + column;
    ForVectors(first, first + columns, body);
  }
}

// The whole tile goes through each stage before the next, so that a stage loads its constants once.
template <typename T>
inline void StoreTileAs(const TileOutput& o, const float* tile, int64_t ld, int64_t row,
                        int64_t column, int64_t rows, int64_t columns) {
  const T* bias = o.bias.data == nullptr ? nullptr : static_cast<const T*>(o.bias.data) + column;
  T* y = static_cast<T*>(o.y.data);
  for (int64_t r = 0; r < rows; ++r) {
    StoreWithBias(y + (row + r) * o.ldy + column, tile + r * ld, bias, columns);
  }
  if (o.gelu.data != nullptr) {
    WithGelu(o.kind, [&](auto gelu) {
      T* out = static_cast<T*>(o.gelu.data);
      ForTile(o, row, column, rows, columns, [&](int64_t i, int64_t lanes) {
        Store(out + i, gelu.Value(Load(y + i, lanes)), lanes);
      });
    });
  }
  if (o.pre_gelu.data != nullptr) {
    WithGelu(o.kind, [&](auto gelu) {
      const T* in = static_cast<const T*>(o.pre_gelu.data);
      ForTile(o, row, column, rows, columns, [&](int64_t i, int64_t lanes) {
        Store(y + i, Load(y + i, lanes) * gelu.Derivative(Load(in + i, lanes)), lanes);
      });
    });
  }
}

inline void StoreTile(const TileOutput& o, const float* tile, int64_t ld, int64_t row,
                      int64_t column, int64_t rows, int64_t columns) {
  WithElement(o.y, [&](auto* y) {
    StoreTileAs<std::remove_reference_t<decltype(*y)>>(o, tile, ld, row, column, rows, columns);
  });
}

inline void StoreTileFlipped(const TileOutput& o, const float* tile, int64_t ld, int64_t row,
                             int64_t column, int64_t rows, int64_t columns) {
  alignas(64) float flipped[kTileVectorsMax * 16 * kTileRowsMax];
  for (int64_t c = 0; c < columns; ++c) {
    for (int64_t r = 0; r < rows; ++r) flipped[c * kTileRowsMax + r] = tile[r * ld + c];
  }
  StoreTile(o, flipped, kTileRowsMax, row, column, columns, rows);
}

}  // namespace gp::engine::GP_ISA_NAMESPACE
