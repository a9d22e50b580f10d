// Token and position embedding. The backward pass gives each thread columns instead of rows, so
// that equal tokens add up in the order of the rows without atomics.
#pragma once

#include "worker/engine/backend/cpu/kernels/dropout.h"
#include "worker/engine/backend/cpu/kernels/element.h"
#include "worker/engine/backend/cpu/kernels/kernel_set.h"
#include "worker/engine/backend/cpu/kernels/vector.h"

namespace gp::engine::GP_ISA_NAMESPACE {

template <typename R>
inline void EmbeddingRowsAs(const EmbeddingArgs& args, R* out, const float* wte, const float* wpe,
                            int64_t first, int64_t last) {
  const DropoutSite site(args.dropout);
  for (int64_t row = first; row < last; ++row) {
    const float* token = wte + args.tokens[row] * args.channels;
    const float* position = wpe + row % args.length * args.channels;
    R* to = out + row * args.channels;
    const DropoutRow mask = site.Row(row);
    ForVectors(0, args.channels, [&](int64_t i, int64_t lanes) {
      Vec value = Load(token + i, lanes) + Load(position + i, lanes);
      if (site.active()) value = value * mask.Mask(i);
      Store(to + i, value, lanes);
    });
  }
}

inline void EmbeddingRows(const EmbeddingArgs& args, Buffer out, const float* wte, const float* wpe,
                          int64_t first, int64_t last) {
  WithElement(out, [&](auto* to) { EmbeddingRowsAs(args, to, wte, wpe, first, last); });
}

template <typename R>
inline void EmbeddingBackwardColumnsAs(const EmbeddingArgs& args, float* dwte, float* dwpe,
                                       const R* dout, int64_t first, int64_t last) {
  const DropoutSite site(args.dropout);
  const auto row_of = [&](float* weight, int64_t row) {
    return weight == nullptr ? nullptr : weight + row * args.channels;
  };
  for (int64_t row = 0; row < args.rows; ++row) {
    float* token = row_of(dwte, args.tokens[row]);
    float* position = row_of(dwpe, row % args.length);
    const R* from = dout + row * args.channels;
    const DropoutRow mask = site.Row(row);
    ForVectors(first, last, [&](int64_t i, int64_t lanes) {
      Vec gradient = Load(from + i, lanes);
      if (site.active()) gradient = gradient * mask.Mask(i);
      if (token != nullptr) Store(token + i, Load(token + i, lanes) + gradient, lanes);
      if (position != nullptr) Store(position + i, Load(position + i, lanes) + gradient, lanes);
    });
  }
}

inline void EmbeddingBackwardColumns(const EmbeddingArgs& args, float* dwte, float* dwpe,
                                     Buffer dout, int64_t first, int64_t last) {
  WithElement(dout, [&](const auto* from) {
    EmbeddingBackwardColumnsAs(args, dwte, dwpe, from, first, last);
  });
}

}  // namespace gp::engine::GP_ISA_NAMESPACE
