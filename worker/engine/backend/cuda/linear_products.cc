#include "worker/engine/backend/cuda/linear_products.h"

#include "worker/engine/backend/cuda/element_type.h"
#include "worker/engine/backend/cuda/kernels/add_bias.h"
#include "worker/engine/backend/cuda/kernels/column_sums.h"
#include "worker/engine/backend/cuda/kernels/gelu.h"

namespace gp::engine {
namespace {

ProductOperand OperandOf(Buffer matrix, int64_t stride) {
  return {.data = matrix.data, .type = CudaTypeOf(matrix.type), .stride = stride};
}

ProductOperand Transposed(ProductOperand operand) {
  operand.transposed = !operand.transposed;
  return operand;
}

}  // namespace

void LinearProducts::Forward(const LinearForward& args) {
  scratch_.Clear();
  const LinearShape& s = args.shape;
  const bool has_gelu = args.gelu.data != nullptr;
  const Product plain = ForwardProduct(args);
  Product with_bias = plain;
  // An epilogue adds a bias of the result's type.
  const bool fuses_bias = args.bias.data != nullptr && args.bias.type == args.y.type;
  if (fuses_bias) with_bias.bias = args.bias.data;
  if (has_gelu && FusesGelu(args.kind) && (fuses_bias || args.bias.data == nullptr)) {
    Product with_gelu = with_bias;
    with_gelu.epilogue = ProductEpilogue::kGelu;
    with_gelu.aux = args.y.data;
    with_gelu.d = args.gelu.data;
    if (RunWith(with_gelu)) return;
  }
  if (!fuses_bias || !RunWith(with_bias)) {
    products_.Run(plain, stream_);
    if (args.bias.data != nullptr) {
      LaunchAddBias(s.rows, s.out, args.y, args.bias, stream_);
    }
  }
  if (has_gelu) LaunchGeluForward(s.rows * s.out, args.kind, args.gelu, args.y, stream_);
}

void LinearProducts::BackwardInput(const LinearBackwardInput& args) {
  scratch_.Clear();
  const Product plain = InputProduct(args);
  const bool has_gelu = args.pre_gelu.data != nullptr;
  if (has_gelu && FusesGelu(args.kind)) {
    Product with_gelu = plain;
    with_gelu.epilogue = ProductEpilogue::kGeluGradient;
    with_gelu.aux = args.pre_gelu.data;
    if (RunWith(with_gelu)) return;
  }
  products_.Run(plain, stream_);
  if (has_gelu) {
    LaunchGeluBackward(args.shape.rows * args.shape.in, args.kind, args.dx, args.pre_gelu, stream_);
  }
}

void LinearProducts::BackwardWeight(const LinearBackwardWeight& args) {
  scratch_.Clear();
  const LinearShape& s = args.shape;
  const Product plain{.m = s.out,
                      .n = s.in,
                      .k = s.rows,
                      .a = Transposed(OperandOf(args.dy, s.out)),
                      .b = OperandOf(args.x, s.in),
                      .d = args.dw,
                      .d_type = CUDA_R_32F,
                      .d_stride = s.in,
                      .accumulate = args.accumulate,
                      .tf32 = options_.tf32 && args.x.type == DataType::kFloat32};
  if (args.dbias != nullptr && !args.accumulate) {
    Product with_sums = plain;
    with_sums.epilogue = ProductEpilogue::kSumsOfA;
    with_sums.sums = args.dbias;
    if (RunWith(with_sums)) return;
  }
  products_.Run(plain, stream_);
  if (args.dbias == nullptr) return;
  LaunchColumnSums(args.dy, s.rows, s.out, args.dbias, args.accumulate,
                   scratch_.Take<float>(ColumnSumsScratch(s.rows, s.out)), stream_);
}

bool LinearProducts::RunWith(const Product& optional) {
  if (!products_.Supports(optional)) return false;
  products_.Run(optional, stream_);
  return true;
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
                  .tf32 = options_.tf32 && args.x.type == DataType::kFloat32};
  if (!MayBeFp8(args.may_be_fp8, args.x.type, s)) return product;
  product.a = fp8_.Rows(args.x, s.rows, s.in, Fp8Format::kE4m3);
  product.b = Transposed(fp8_.Rows(args.w, s.out, s.in, Fp8Format::kE4m3));
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
  product.a = fp8_.Rows(args.dy, s.rows, s.out, Fp8Format::kE5m2);
  // (in, out): what is summed lies side by side.
  product.b = Transposed(fp8_.Columns(args.w, s.out, s.in, Fp8Format::kE4m3));
  return product;
}

}  // namespace gp::engine
