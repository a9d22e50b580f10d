#include "worker/engine/backend/cuda/products/linear_products.h"

#include "worker/engine/backend/cuda/kernels/add_bias.h"
#include "worker/engine/backend/cuda/kernels/column_sums.h"
#include "worker/engine/backend/cuda/kernels/flat.h"
#include "worker/engine/backend/cuda/kernels/gelu.h"
#include "worker/engine/backend/cuda/runtime/element_type.h"

namespace gp::engine {
namespace {

ProductOperand OperandOf(Buffer matrix, int64_t stride) {
  return {.data = matrix.data, .type = CudaTypeOf(matrix.type), .stride = stride};
}

ProductOperand Transposed(ProductOperand operand) {
  operand.transposed = !operand.transposed;
  return operand;
}

cudaDataType_t Fp8Type(Fp8Format format) {
  return format == Fp8Format::kE4m3 ? CUDA_R_8F_E4M3 : CUDA_R_8F_E5M2;
}

}  // namespace

LinearProducts::LinearProducts(CublasLt& products, ScratchMemory& scratch, cudaStream_t stream,
                               const LinearOptions& options)
    : products_(products),
      scratch_(scratch),
      stream_(stream),
      options_(options),
      fp8_(scratch, stream) {}

void LinearProducts::Forward(const LinearForward& args) {
  scratch_.Clear();
  const LinearShape& s = args.shape;
  const bool has_bias = args.bias.data != nullptr;
  const bool has_gelu = args.gelu.data != nullptr;
  // An epilogue can add only a bias that has the result's type.
  const bool fuses_bias = has_bias && args.bias.type == args.y.type;
  const Product plain = ForwardProduct(args);
  Product with_bias = plain;
  if (fuses_bias) with_bias.bias = args.bias.data;
  const auto apart = [&] {
    if (fuses_bias && products_.Supports(with_bias)) {
      Run(with_bias);
    } else {
      Run(plain);
      if (has_bias) Then([&] { LaunchAddBias(s.rows, s.out, args.y, args.bias, stream_); });
    }
    if (!has_gelu) return;
    Then([&] { LaunchGeluForward(s.rows * s.out, args.kind, args.gelu, args.y, stream_); });
  };
  if (!has_gelu || !FusesGelu(args.kind, args.y.type) || fuses_bias != has_bias) return apart();
  Product with_gelu = with_bias;
  with_gelu.epilogue = ProductEpilogue::kGelu;
  with_gelu.aux = args.y.data;
  with_gelu.d = args.gelu.data;
  RunEither(
      with_gelu, [&] { Run(with_gelu); }, apart);
}

void LinearProducts::BackwardInput(const LinearBackwardInput& args) {
  scratch_.Clear();
  const Product plain = InputProduct(args);
  if (args.dbias == nullptr) return RunInput(args, plain);
  auto* parts = scratch_.Allocate<float>(ColumnSumsScratch(args.shape.rows, args.shape.in));
  const auto apart = [&] {
    RunInput(args, plain);
    Then([&] {
      LaunchColumnSums(args.dx, args.shape.rows, args.shape.in, args.dbias, args.accumulate_bias,
                       parts, stream_);
    });
  };
  if (!FusesGeluGradient(args) || args.dx.type == DataType::kFloat16) return apart();
  Product with_sums = GeluGradientProduct(args, plain);
  with_sums.epilogue = ProductEpilogue::kGeluGradientAndSums;
  const BiasSums bias{args.shape.in, args.dbias, args.accumulate_bias};
  const Buffer sums = SumsFor(bias, args.dx.type);
  with_sums.sums = sums.data;
  const auto whole = [&] {
    Run(with_sums);
    Then([&] { KeepSums(bias, sums, parts); });
  };
  RunEither(with_sums, whole, apart);
}

// Computes dx only.
void LinearProducts::RunInput(const LinearBackwardInput& args, const Product& plain) {
  const LinearShape& s = args.shape;
  const auto apart = [&] {
    Run(plain);
    if (args.pre_gelu.data == nullptr) return;
    Then([&] { LaunchGeluBackward(s.rows * s.in, args.kind, args.dx, args.pre_gelu, stream_); });
  };
  if (!FusesGeluGradient(args)) return apart();
  const Product with_gelu = GeluGradientProduct(args, plain);
  RunEither(
      with_gelu, [&] { Run(with_gelu); }, apart);
}

Product LinearProducts::GeluGradientProduct(const LinearBackwardInput& args, const Product& plain) {
  Product product = plain;
  product.epilogue = ProductEpilogue::kGeluGradient;
  product.aux = args.pre_gelu.data;
  return product;
}

// The buffer for an epilogue's sums, which it overwrites, in the type of its result.
Buffer LinearProducts::SumsFor(const BiasSums& bias, DataType type) {
  if (type == DataType::kFloat32 && !bias.accumulate) return Fp32(bias.dbias);
  return {scratch_.Allocate<std::byte>(bias.count * BytesOf(type)), type};
}

// dbias (+)= sums; `wide` is scratch for as many floats.
void LinearProducts::KeepSums(const BiasSums& bias, Buffer sums, float* wide) {
  if (!bias.accumulate) {
    if (sums.data != bias.dbias) LaunchConvert(bias.count, Fp32(bias.dbias), sums, stream_);
    return;
  }
  if (sums.type != DataType::kFloat32) LaunchConvert(bias.count, Fp32(wide), sums, stream_);
  const float* added = sums.type == DataType::kFloat32 ? sums.f32() : wide;
  LaunchAxpby(bias.count, bias.dbias, 1, bias.dbias, 1, added, stream_);
}

void LinearProducts::BackwardWeight(const LinearBackwardWeight& args) {
  scratch_.Clear();
  const LinearShape& s = args.shape;
  const Product plain = WeightProduct(args);
  if (args.dbias == nullptr) return Run(plain);
  auto* parts = scratch_.Allocate<float>(ColumnSumsScratch(s.rows, s.out));
  Product with_sums = plain;
  with_sums.epilogue = ProductEpilogue::kSumsOfA;
  const BiasSums bias{s.out, args.dbias, args.accumulate};
  const Buffer sums = SumsFor(bias, DataType::kFloat32);
  with_sums.sums = sums.data;
  const auto whole = [&] {
    Run(with_sums);
    Then([&] { KeepSums(bias, sums, parts); });
  };
  const auto apart = [&] {
    Run(plain);
    Then([&] {
      LaunchColumnSums(args.dy, s.rows, s.out, args.dbias, args.accumulate, parts, stream_);
    });
  };
  RunEither(with_sums, whole, apart);
}

void LinearProducts::Run(const Product& product) {
  if (options_.dry) return static_cast<void>(products_.Supports(product));
  products_.Run(product, stream_);
}

void LinearProducts::RunEither(const Product& fused, const Work& whole, const Work& apart) {
  if (products_.Supports(fused) && !products_.HasFusionChoice(fused)) {
    products_.SetFusionChoice(fused, judge_ ? judge_(whole, apart) : IsBetterFused(fused));
  }
  products_.Supports(fused) ? whole() : apart();
}

// The decision without timing. An epilogue saves a pass over the result, or over dy. But it rounds
// the sums of dx to dx's type, which is right only for a measured gain. And with the sums of dy,
// cuBLASLt does not split the sum over the rows. A small gradient needs this split: it has fewer
// tiles than a large device has multiprocessors (all gradients of a block at 124M), and the idle
// multiprocessors cost more time than another pass over dy. The numbers are the same for all
// devices, so that bits do not depend on the device.
bool LinearProducts::IsBetterFused(const Product& fused) const {
  constexpr int64_t kTile = 128 * 256;  // elements of a tile of the fastest kernels for sm_90
  constexpr int64_t kMultiprocessors = 132;
  if (fused.epilogue == ProductEpilogue::kGeluGradientAndSums) return fused.d_type == CUDA_R_32F;
  return fused.epilogue != ProductEpilogue::kSumsOfA ||
         fused.m * fused.n >= kTile * kMultiprocessors;
}

bool LinearProducts::MayBeFp8(bool asked, DataType type, const LinearShape& shape) const {
  return options_.fp8 && asked && type != DataType::kFloat32 && Fp8Operands::Fits(shape);
}

Product LinearProducts::ForwardProduct(const LinearForward& args) {
  const LinearShape& s = args.shape;
  Product product{.m = s.rows,
                  .n = s.out,
                  .k = s.in,
                  .a = OperandOf(args.x, s.in),
                  .b = Transposed(OperandOf(args.w, s.in)),
                  .d = args.y.data,
                  .d_type = CudaTypeOf(args.y.type),
                  .d_stride = s.out,
                  .accumulate = args.added.data != nullptr,
                  .added = args.added.data,
                  .tf32 = options_.tf32 && args.x.type == DataType::kFloat32};
  if (!MayBeFp8(args.may_be_fp8, args.x.type, s)) return product;
  product.a = Fp8Rows(args.x, s.rows, s.in, Fp8Format::kE4m3);
  product.b = Transposed(Fp8Rows(args.w, s.out, s.in, Fp8Format::kE4m3));
  return product;
}

Product LinearProducts::InputProduct(const LinearBackwardInput& args) {
  const LinearShape& s = args.shape;
  Product product{.m = s.rows,
                  .n = s.in,
                  .k = s.out,
                  .a = OperandOf(args.dy, s.out),
                  .b = OperandOf(args.w, s.in),
                  .d = args.dx.data,
                  .d_type = CudaTypeOf(args.dx.type),
                  .d_stride = s.in,
                  .tf32 = options_.tf32 && args.dy.type == DataType::kFloat32};
  if (!MayBeFp8(args.may_be_fp8, args.dy.type, s)) return product;
  product.a = Fp8Rows(args.dy, s.rows, s.out, Fp8Format::kE5m2);
  // The transposed copy (in, out): its summed elements are adjacent.
  product.b = Transposed(Fp8Columns(args.w, s.out, s.in, Fp8Format::kE4m3));
  return product;
}

Product LinearProducts::WeightProduct(const LinearBackwardWeight& args) const {
  const LinearShape& s = args.shape;
  return {.m = s.out,
          .n = s.in,
          .k = s.rows,
          .a = Transposed(OperandOf(args.dy, s.out)),
          .b = OperandOf(args.x, s.in),
          .d = args.dw,
          .d_type = CUDA_R_32F,
          .d_stride = s.in,
          .accumulate = args.accumulate,
          .tf32 = options_.tf32 && args.x.type == DataType::kFloat32};
}

// Copies the matrix into scratch memory. A dry run only returns an operand of the same kind.
ProductOperand LinearProducts::Fp8Rows(Buffer matrix, int64_t rows, int64_t columns,
                                       Fp8Format format) {
  if (options_.dry) return {.type = Fp8Type(format), .stride = columns};
  return fp8_.Rows(matrix, rows, columns, format);
}

ProductOperand LinearProducts::Fp8Columns(Buffer matrix, int64_t rows, int64_t columns,
                                          Fp8Format format) {
  if (options_.dry) return {.type = Fp8Type(format), .stride = rows};
  return fp8_.Columns(matrix, rows, columns, format);
}

}  // namespace gp::engine
