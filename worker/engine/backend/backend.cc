#include "worker/engine/backend/backend.h"

namespace gp::engine {

void Backend::Pack(const WeightRows& args) {
  const int64_t row_bytes = args.in * BytesOf(args.rows.type);
  Copy(static_cast<std::byte*>(args.packed.data) + args.first * row_bytes, args.rows.data,
       args.count * row_bytes);
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
