#include "worker/engine/backend/cuda/products/product.h"

#include <algorithm>

namespace gp::engine {
namespace {

// No kernel loads more than 16 bytes at a time, so a larger alignment would only make more plans.
constexpr int kAlignmentMax = 16;

int AlignmentOf(const void* data) {
  const auto address = reinterpret_cast<uintptr_t>(data);
  if (address == 0) return kAlignmentMax;
  return static_cast<int>(std::min<uintptr_t>(address & (~address + 1), kAlignmentMax));
}

const char* TypeName(int type) {
  switch (type) {
    case CUDA_R_32F:
      return "fp32";
    case CUDA_R_16BF:
      return "bf16";
    case CUDA_R_16F:
      return "fp16";
    case CUDA_R_8F_E4M3:
      return "e4m3";
    case CUDA_R_8F_E5M2:
      return "e5m2";
    default:
      return "?";
  }
}

const char* EpilogueName(ProductEpilogue epilogue) {
  switch (epilogue) {
    case ProductEpilogue::kNone:
      return "";
    case ProductEpilogue::kGelu:
      return "_gelu";
    case ProductEpilogue::kGeluGradient:
      return "_dgelu";
    case ProductEpilogue::kGeluGradientAndSums:
      return "_dgelu-sums";
    case ProductEpilogue::kSumsOfA:
      return "_sums";
  }
  return "";
}

}  // namespace

ProductKind KindOf(const Product& p) {
  return {.m = p.m,
          .n = p.n,
          .k = p.k,
          .batch = p.batch,
          .a_stride = p.a.stride,
          .b_stride = p.b.stride,
          .d_stride = p.d_stride,
          .a_batch_stride = p.batch > 1 ? p.a.batch_stride : 0,
          .b_batch_stride = p.batch > 1 ? p.b.batch_stride : 0,
          .d_batch_stride = p.batch > 1 ? p.d_batch_stride : 0,
          .a_type = p.a.type,
          .b_type = p.b.type,
          .d_type = p.d_type,
          .a_transposed = p.a.transposed,
          .b_transposed = p.b.transposed,
          .accumulate = p.accumulate,
          .tf32 = p.tf32,
          .has_bias = p.bias != nullptr,
          .epilogue = p.epilogue,
          .a_alignment = AlignmentOf(p.a.data),
          .b_alignment = AlignmentOf(p.b.data),
          .d_alignment = std::min({AlignmentOf(p.d), AlignmentOf(p.added), AlignmentOf(p.bias),
                                   AlignmentOf(p.aux), AlignmentOf(p.sums)})};
}

std::string ProductKind::Text() const {
  const auto size = [](int64_t value) { return std::to_string(value); };
  std::string text = size(m) + "x" + size(n) + "x" + size(k) + "_" + TypeName(a_type) + "x" +
                     TypeName(b_type) + "-" + TypeName(d_type) + "_" + (a_transposed ? "t" : "n") +
                     (b_transposed ? "t" : "n") + EpilogueName(epilogue);
  if (has_bias) text += "_bias";
  if (accumulate) text += "_add";
  if (tf32) text += "_tf32";
  text += "_r" + size(a_stride) + "," + size(b_stride) + "," + size(d_stride);
  if (batch > 1) {
    text += "_b" + size(batch) + "," + size(a_batch_stride) + "," + size(b_batch_stride) + "," +
            size(d_batch_stride);
  }
  return text + "_a" + size(a_alignment) + "," + size(b_alignment) + "," + size(d_alignment);
}

}  // namespace gp::engine
