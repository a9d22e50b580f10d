#include "worker/engine/backend/backend.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace gp::engine {

void Backend::Pack(const WeightRows& args) {
  const int64_t row_bytes = args.in * BytesOf(args.rows.type);
  Copy(static_cast<std::byte*>(args.packed.data) + args.first * row_bytes, args.rows.data,
       args.count * row_bytes);
}

void Backend::Multiply(const SymmetricProduct& args) {
  const Buffer a = Fp32(args.a);
  const Buffer b = Fp32(args.b);
  if (args.transposed) {
    BackwardWeight({.shape = {args.depth, args.size, args.size}, .dw = args.c, .dy = a, .x = b});
  } else {
    Forward({.shape = {args.size, args.depth, args.size}, .y = Fp32(args.c), .x = a, .w = b});
  }
}

void Backend::ForEach(int64_t count, const LaneWork& work) {
  for (int64_t index = 0; index < count; ++index) work(*this, 0, index);
}

void Backend::AttendRows(const CachedAttention& args, const DecodeRows& rows) {
  std::vector<CacheRows> sequences;
  for (int64_t row = 0; row < rows.rows; ++row) {
    if (rows.slots[row] < 0) continue;
    sequences.push_back({row, 1, rows.slots[row], rows.positions[row]});
  }
  CachedAttention call = args;
  call.sequences = sequences;
  AttentionForward(call);
}

void Backend::EmbedRows(const DecodeRows& rows, int64_t channels, Buffer out, const float* wte,
                        const float* wpe) {
  for (int64_t row = 0; row < rows.rows; ++row) {
    EmbeddingForward(1, 1, channels, out.From(row * channels), rows.tokens + row, wte,
                     wpe + rows.positions[row] * channels, Dropout{});
  }
}

void Backend::FindLikeliest(const LikeliestTokens& args) {
  std::vector<int32_t> ids(static_cast<size_t>(args.below));
  for (int64_t row = 0; row < args.rows; ++row) {
    const float* logits = args.logits + row * args.columns;
    const auto value = [&](int32_t id) {
      return std::isnan(logits[id]) ? -std::numeric_limits<float>::infinity() : logits[id];
    };
    std::iota(ids.begin(), ids.end(), 0);
    std::partial_sort(ids.begin(), ids.begin() + args.count, ids.end(), [&](int32_t a, int32_t b) {
      return value(a) != value(b) ? value(a) > value(b) : a < b;
    });
    for (int64_t i = 0; i < args.count; ++i) {
      args.ids[row * args.count + i] = ids[static_cast<size_t>(i)];
      args.values[row * args.count + i] = value(ids[static_cast<size_t>(i)]);
    }
  }
}

double Backend::CrossEntropyForward(const CrossEntropyShape& shape, float* lse, Buffer logits,
                                    const int32_t* targets) {
  Zero(scalar(), sizeof(double));
  Forward(CrossEntropyLoss{shape, scalar(), lse, logits, targets});
  double loss = 0;
  Download(&loss, scalar(), sizeof(double));
  return loss;
}

void Backend::CrossEntropyBackward(const CrossEntropyShape& shape, Buffer logits, const float* lse,
                                   const int32_t* targets, float scale) {
  Backward(CrossEntropyGradient{shape, logits, lse, targets, scale});
}

double Backend::SumOfSquares(const float* values, int64_t count) {
  SumOfSquares(scalar(), values, count);
  double sum = 0;
  Download(&sum, scalar(), sizeof(double));
  return sum;
}

}  // namespace gp::engine
