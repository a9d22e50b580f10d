// LayerNorm (Ba et al. 2016, arXiv:1607.06450) on rows of the residual stream, alone and after the
// residual addition.
#pragma once

#include "worker/engine/backend/cpu/kernels/dropout.h"
#include "worker/engine/backend/cpu/kernels/element.h"
#include "worker/engine/backend/cpu/kernels/kernel_set.h"
#include "worker/engine/backend/cpu/kernels/vector.h"

namespace gp::engine::GP_ISA_NAMESPACE {

template <typename R, typename T>
inline void LayerNormRow(const LayerNorm& args, int64_t row, const R* in, T* out) {
  const auto channels = static_cast<float>(args.channels);
  Vec sum{};
  ForVectors(0, args.channels, [&](int64_t i, int64_t lanes) { sum = sum + Load(in + i, lanes); });
  const float mean = Sum(sum) / channels;
  Vec squares{};
  ForVectors(0, args.channels, [&](int64_t i, int64_t lanes) {
    const Vec centred = KeepLanes(Load(in + i, lanes) - mean, lanes, 0);
    squares = squares + centred * centred;
  });
  const float rstd = 1.0f / __builtin_sqrtf(Sum(squares) / channels + 1e-5f);
  ForVectors(0, args.channels, [&](int64_t i, int64_t lanes) {
    Vec value = (Load(in + i, lanes) - mean) * rstd * Load(args.gamma + i, lanes);
    if (args.beta != nullptr) value = value + Load(args.beta + i, lanes);
    Store(out + i, value, lanes);
  });
  args.mean[row] = mean;
  args.rstd[row] = rstd;
}

inline void LayerNormRows(const LayerNorm& args, int64_t first, int64_t last) {
  WithElements(args.in, args.out, [&](const auto* in, auto* out) {
    for (int64_t row = first; row < last; ++row) {
      const int64_t offset = row * args.channels;
      LayerNormRow(args, row, in + offset, out + offset);
    }
  });
}

// With xhat = (in - mean) * rstd and d = dout * gamma:
//   din = rstd * (d - mean(d) - xhat * mean(d * xhat))
template <typename R, typename T>
inline void LayerNormBackwardRow(const LayerNormBackward& args, int64_t row, const R* in,
                                 const T* dout) {
  R* din = static_cast<R*>(args.din.data) + row * args.channels;
  const float mean = args.mean[row];
  const float rstd = args.rstd[row];
  Vec sum{};
  Vec product_sum{};
  ForVectors(0, args.channels, [&](int64_t i, int64_t lanes) {
    const Vec d = Load(dout + i, lanes) * Load(args.gamma + i, lanes);
    sum = sum + d;
    product_sum = product_sum + d * ((Load(in + i, lanes) - mean) * rstd);
  });
  const float d_mean = Sum(sum) / static_cast<float>(args.channels);
  const float product_mean = Sum(product_sum) / static_cast<float>(args.channels);
  ForVectors(0, args.channels, [&](int64_t i, int64_t lanes) {
    const Vec xhat = (Load(in + i, lanes) - mean) * rstd;
    const Vec d = Load(dout + i, lanes) * Load(args.gamma + i, lanes);
    Vec gradient = (d - d_mean - xhat * product_mean) * rstd;
    if (args.accumulate_input) gradient = gradient + Load(din + i, lanes);
    Store(din + i, gradient, lanes);
  });
}

inline void LayerNormBackwardRows(const LayerNormBackward& args, int64_t first, int64_t last) {
  WithElements(args.in, args.dout, [&](const auto* in, const auto* dout) {
    for (int64_t row = first; row < last; ++row) {
      LayerNormBackwardRow(args, row, in + row * args.channels, dout + row * args.channels);
    }
  });
}

// dgamma = sum over rows of dout * xhat, dbeta of dout.
inline void LayerNormBackwardColumns(const LayerNormBackward& args, int64_t first, int64_t last) {
  WithElements(args.in, args.dout, [&](const auto* in, const auto* dout) {
    ForVectors(first, last, [&](int64_t i, int64_t lanes) {
      Vec dgamma = args.accumulate_parameters ? Load(args.dgamma + i, lanes) : Vec{};
      Vec dbeta{};
      for (int64_t row = 0; row < args.rows; ++row) {
        const int64_t at = row * args.channels + i;
        const Vec d = Load(dout + at, lanes);
        dgamma = dgamma + d * ((Load(in + at, lanes) - args.mean[row]) * args.rstd[row]);
        dbeta = dbeta + d;
      }
      Store(args.dgamma + i, dgamma, lanes);
      if (args.dbeta == nullptr) return;
      if (args.accumulate_parameters) dbeta = dbeta + Load(args.dbeta + i, lanes);
      Store(args.dbeta + i, dbeta, lanes);
    });
  });
}

template <typename R, typename T>
inline void ResidualRow(const ResidualAddition& args, const DropoutSite& site, int64_t row,
                        const R* in, const T* branch) {
  const int64_t offset = row * args.channels;
  R* out = static_cast<R*>(args.out.data) + offset;
  const DropoutRow mask = site.Row(row);
  ForVectors(0, args.channels, [&](int64_t i, int64_t lanes) {
    Vec added = Load(branch + offset + i, lanes);
    if (site.active()) added = added * mask.Mask(i);
    Store(out + i, Load(in + offset + i, lanes) + added, lanes);
  });
}

inline void ResidualRows(const ResidualAddition& args, int64_t first, int64_t last) {
  const DropoutSite site(args.dropout);
  WithElements(args.in, args.branch, [&](const auto* in, const auto* branch) {
    for (int64_t row = first; row < last; ++row) ResidualRow(args, site, row, in, branch);
  });
}

inline void ResidualLayerNormRows(const ResidualAddition& args, const LayerNorm& norm,
                                  int64_t first, int64_t last) {
  const DropoutSite site(args.dropout);
  WithElements(args.in, args.branch, [&](auto* in, auto* branch) {
    const auto* residual = static_cast<decltype(in)>(args.out.data);
    auto* out = static_cast<decltype(branch)>(norm.out.data);
    for (int64_t row = first; row < last; ++row) {
      const int64_t offset = row * args.channels;
      ResidualRow(args, site, row, in, branch);
      LayerNormRow(norm, row, residual + offset, out + offset);
    }
  });
}

inline void ResidualBackwardRows(Buffer dbranch_buffer, Buffer dout_buffer, int64_t channels,
                                 const Dropout& dropout, int64_t first, int64_t last) {
  const DropoutSite site(dropout);
  WithElements(dbranch_buffer, dout_buffer, [&](auto* dbranch, const auto* dout) {
    for (int64_t row = first; row < last; ++row) {
      const int64_t offset = row * channels;
      const DropoutRow mask = site.Row(row);
      ForVectors(0, channels, [&](int64_t i, int64_t lanes) {
        Vec gradient = Load(dout + offset + i, lanes);
        if (site.active()) gradient = gradient * mask.Mask(i);
        Store(dbranch + offset + i, gradient, lanes);
      });
    }
  });
}

}  // namespace gp::engine::GP_ISA_NAMESPACE
