// Goal: products through cuBLASLt equal plain loops for every type, transposition and epilogue that
// the backend uses. The emulated cuBLASLt and the real library pass the same tests.
#include "worker/engine/backend/cuda/products/cublas_lt.h"

#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "worker/engine/backend/cuda/device_array.h"
#include "worker/engine/backend/cuda/runtime/element_type.h"
#include "worker/engine/backend/cuda/runtime/runtime.h"

namespace gp::engine {
namespace {

struct Sizes {
  int64_t m, n, k;
};

double Gelu(double x) {
  return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}
double GeluGradient(double x) {
  constexpr double kStep = 1e-5;
  return (Gelu(x + kStep) - Gelu(x - kStep)) / (2 * kStep);
}

class CublasLtTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped()) return;
    workspace_.emplace(CublasLt::kWorkspaceBytes);
    products_.emplace(workspace_->data());
    stream_.emplace();
  }
  void RunAndWait(const Product& product) {
    products_->Run(product, stream_->get());
    stream_->Synchronize();
  }
  // Creates an array of normally distributed values. The fixture owns it; test cases refer to it.
  const DeviceArray& Array(int64_t count, DataType type, unsigned seed) {
    return arrays_.emplace_back(NormalValues(count, seed, 0.5f), type);
  }

  std::optional<DeviceMemory> workspace_;
  std::optional<CublasLt> products_;
  std::optional<CudaStream> stream_;
  std::deque<DeviceArray> arrays_;
};

// One product with its operands, and its result by a plain loop.
struct Case {
  Sizes sizes;
  bool a_transposed, b_transposed;
  const DeviceArray* a;
  const DeviceArray* b;

  double Sum(int64_t row, int64_t column) const {
    double sum = 0;
    for (int64_t k = 0; k < sizes.k; ++k) {
      sum += double{a->at(a_transposed ? k * sizes.m + row : row * sizes.k + k)} *
             b->at(b_transposed ? column * sizes.k + k : k * sizes.n + column);
    }
    return sum;
  }
  Product Get(DataType type, const DeviceArray& d, DataType d_type) const {
    return {.m = sizes.m,
            .n = sizes.n,
            .k = sizes.k,
            .a = {.data = a->buffer().data,
                  .type = CudaTypeOf(type),
                  .stride = a_transposed ? sizes.m : sizes.k,
                  .transposed = a_transposed},
            .b = {.data = b->buffer().data,
                  .type = CudaTypeOf(type),
                  .stride = b_transposed ? sizes.k : sizes.n,
                  .transposed = b_transposed},
            .d = d.buffer().data,
            .d_type = CudaTypeOf(d_type),
            .d_stride = sizes.n};
  }
};

constexpr Sizes kOddSizes[] = {{3, 5, 7}, {17, 1, 33}, {1, 29, 64}, {64, 96, 32}};

class CublasLtProducts : public CublasLtTest {
 protected:
  Case MakeCase(const Sizes& sizes, DataType type, bool a_transposed, bool b_transposed) {
    return {sizes, a_transposed, b_transposed, &Array(sizes.m * sizes.k, type, 1),
            &Array(sizes.k * sizes.n, type, 2)};
  }
  void ExpectNear(const DeviceArray& actual, DataType type, const Case& c,
                  const std::function<double(int64_t row, int64_t column)>& expected) {
    const std::vector<float> values = actual.Get();
    for (int64_t row = 0; row < c.sizes.m; ++row) {
      for (int64_t column = 0; column < c.sizes.n; ++column) {
        const double value = expected(row, column);
        ASSERT_NEAR(
            values[static_cast<size_t>(row * c.sizes.n + column)], value,
            DeviceTolerance(type, std::abs(value) + std::sqrt(static_cast<double>(c.sizes.k))))
            << row << " " << column << " of " << KindOf(c.Get(type, actual, type)).Text();
      }
    }
  }
};

TEST_F(CublasLtProducts, EqualPlainLoopsInEveryTypeAndTransposition) {
  for (const DataType type : kDataTypes) {
    for (const Sizes& sizes : kOddSizes) {
      for (const bool a_transposed : {false, true}) {
        for (const bool b_transposed : {false, true}) {
          const Case c = MakeCase(sizes, type, a_transposed, b_transposed);
          const DeviceArray d = Unwritten(sizes.m * sizes.n, type);
          RunAndWait(c.Get(type, d, type));
          ExpectNear(d, type, c, [&](int64_t i, int64_t j) { return c.Sum(i, j); });
        }
      }
    }
  }
}

TEST_F(CublasLtProducts, AccumulateInFp32) {
  for (const DataType type : kDataTypes) {
    const Case c = MakeCase({24, 40, 19}, type, true, false);
    const DeviceArray d(NormalValues(24 * 40, 3), DataType::kFloat32);
    Product product = c.Get(type, d, DataType::kFloat32);
    product.accumulate = true;
    RunAndWait(product);
    ExpectNear(d, DataType::kFloat32, c,
               [&](int64_t i, int64_t j) { return d.at(i * 40 + j) + c.Sum(i, j); });
  }
}

TEST_F(CublasLtProducts, ScaleWithAlphaAndRoundToTf32WhenAsked) {
  const Case c = MakeCase({16, 24, 32}, DataType::kFloat32, false, true);
  const DeviceArray d = Unwritten(16 * 24, DataType::kFloat32);
  Product product = c.Get(DataType::kFloat32, d, DataType::kFloat32);
  product.alpha = 0.25f;
  product.tf32 = true;
  RunAndWait(product);
  // TF32 keeps 10 bits after the binary point, slightly fewer than fp16.
  ExpectNear(d, DataType::kFloat16, c, [&](int64_t i, int64_t j) { return 0.25 * c.Sum(i, j); });
}

TEST_F(CublasLtProducts, AddABias) {
  for (const DataType type : kDataTypes) {
    const Case c = MakeCase({24, 40, 32}, type, false, true);
    const DeviceArray d = Unwritten(24 * 40, type);
    const DeviceArray& bias = Array(40, type, 4);
    Product product = c.Get(type, d, type);
    product.bias = bias.buffer().data;
    ASSERT_TRUE(products_->Supports(product));
    RunAndWait(product);
    ExpectNear(d, type, c, [&](int64_t i, int64_t j) { return c.Sum(i, j) + bias.at(j); });
  }
}

TEST_F(CublasLtProducts, ApplyGeluAndKeepWhatWentIn) {
  for (const DataType type : {DataType::kBfloat16, DataType::kFloat16}) {
    const Case c = MakeCase({24, 40, 32}, type, false, true);
    const DeviceArray d = Unwritten(24 * 40, type);
    const DeviceArray before = Unwritten(24 * 40, type);
    const DeviceArray& bias = Array(40, type, 4);
    Product product = c.Get(type, d, type);
    product.epilogue = ProductEpilogue::kGelu;
    product.bias = bias.buffer().data;
    product.aux = before.buffer().data;
    ASSERT_TRUE(products_->Supports(product));
    RunAndWait(product);
    const auto value = [&](int64_t i, int64_t j) { return c.Sum(i, j) + bias.at(j); };
    ExpectNear(before, type, c, value);
    ExpectNear(d, type, c,
               [&](int64_t i, int64_t j) { return Gelu(static_cast<float>(value(i, j))); });
  }
}

TEST_F(CublasLtProducts, MultiplyWithTheGradientOfGelu) {
  for (const DataType type : {DataType::kBfloat16, DataType::kFloat16}) {
    const Case c = MakeCase({24, 40, 32}, type, false, false);
    const DeviceArray d = Unwritten(24 * 40, type);
    const DeviceArray& before = Array(24 * 40, type, 5);
    Product product = c.Get(type, d, type);
    product.epilogue = ProductEpilogue::kGeluGradient;
    product.aux = before.buffer().data;
    ASSERT_TRUE(products_->Supports(product));
    RunAndWait(product);
    ExpectNear(d, type, c, [&](int64_t i, int64_t j) {
      return c.Sum(i, j) * GeluGradient(before.at(i * 40 + j));
    });
  }
}

// A device may not support this epilogue; the backend then computes the column sums in a separate
// kernel.
TEST_F(CublasLtProducts, SumTheRowsOfAWhereTheyCan) {
  for (const DataType type : {DataType::kBfloat16, DataType::kFloat16}) {
    const Case c = MakeCase({24, 40, 32}, type, true, false);
    const DeviceArray d = Unwritten(24 * 40, DataType::kFloat32);
    const DeviceArray sums = Unwritten(24, DataType::kFloat32);
    Product product = c.Get(type, d, DataType::kFloat32);
    product.epilogue = ProductEpilogue::kSumsOfA;
    product.sums = sums.f32();
    if (!products_->Supports(product)) continue;
    RunAndWait(product);
    ExpectNear(d, type, c, [&](int64_t i, int64_t j) { return c.Sum(i, j); });
    const std::vector<float> values = sums.Get();
    for (int64_t row = 0; row < 24; ++row) {
      double expected = 0;
      for (int64_t k = 0; k < 32; ++k) expected += c.a->at(k * 24 + row);
      EXPECT_NEAR(values[static_cast<size_t>(row)], expected, DeviceTolerance(type, expected));
    }
  }
}

// A device may not support this epilogue, either.
TEST_F(CublasLtProducts, SumTheGeluGradientWhereTheyCan) {
  for (const DataType type : kDataTypes) {
    const Case c = MakeCase({24, 40, 32}, type, false, false);
    const DeviceArray d = Unwritten(24 * 40, type), sums = Unwritten(40, type);
    const DeviceArray& before = Array(24 * 40, type, 5);
    Product product = c.Get(type, d, type);
    product.epilogue = ProductEpilogue::kGeluGradientAndSums;
    product.aux = before.buffer().data;
    product.sums = sums.buffer().data;
    if (!products_->Supports(product)) continue;
    RunAndWait(product);
    const auto gradient = [&](int64_t i, int64_t j) {
      return c.Sum(i, j) * GeluGradient(before.at(i * 40 + j));
    };
    ExpectNear(d, type, c, gradient);
    const std::vector<float> values = sums.Get();
    for (int64_t column = 0; column < 40; ++column) {
      double expected = 0, magnitude = 0;
      for (int64_t row = 0; row < 24; ++row) {
        expected += gradient(row, column);
        magnitude += std::abs(gradient(row, column));
      }
      EXPECT_NEAR(values[static_cast<size_t>(column)], expected, DeviceTolerance(type, magnitude));
    }
  }
}

TEST_F(CublasLtProducts, RunInBatchesWithStrides) {
  const Case first = MakeCase({5, 6, 8}, DataType::kBfloat16, false, false);
  const DeviceArray& a = Array(3 * 5 * 8, DataType::kBfloat16, 6);
  const DeviceArray& b = Array(3 * 8 * 6, DataType::kBfloat16, 7);
  const DeviceArray d = Unwritten(3 * 5 * 6, DataType::kBfloat16);
  Product product = first.Get(DataType::kBfloat16, d, DataType::kBfloat16);
  product.a.data = a.buffer().data;
  product.b.data = b.buffer().data;
  product.batch = 3;
  product.a.batch_stride = 5 * 8;
  product.b.batch_stride = 8 * 6;
  product.d_batch_stride = 5 * 6;
  RunAndWait(product);
  const std::vector<float> values = d.Get();
  for (int64_t i = 0; i < 3 * 5 * 6; ++i) {
    const int64_t batch = i / 30, row = i / 6 % 5, column = i % 6;
    double expected = 0;
    for (int64_t k = 0; k < 8; ++k) {
      expected += double{a.at(batch * 40 + row * 8 + k)} * b.at(batch * 48 + k * 6 + column);
    }
    EXPECT_NEAR(values[static_cast<size_t>(i)], expected,
                DeviceTolerance(DataType::kBfloat16, expected))
        << i;
  }
}

// cuBLASLt 13 on an H100 supports this product; the emulation refuses it, as other versions might.
TEST_F(CublasLtProducts, AnAuxThatLiesOnAnOddStrideIsRightOrRefused) {
  const Case c = MakeCase({24, 37, 32}, DataType::kBfloat16, false, true);
  const DeviceArray d = Unwritten(24 * 37, DataType::kBfloat16);
  const DeviceArray before = Unwritten(24 * 37, DataType::kBfloat16);
  Product product = c.Get(DataType::kBfloat16, d, DataType::kBfloat16);
  product.epilogue = ProductEpilogue::kGelu;
  product.aux = before.buffer().data;
  if (!products_->Supports(product)) {
    EXPECT_THROW(products_->Run(product, stream_->get()), std::runtime_error);
    return;
  }
  RunAndWait(product);
  ExpectNear(before, DataType::kBfloat16, c, [&](int64_t i, int64_t j) { return c.Sum(i, j); });
  ExpectNear(d, DataType::kBfloat16, c,
             [&](int64_t i, int64_t j) { return Gelu(static_cast<float>(c.Sum(i, j))); });
}

#ifdef GP_CUDA_EMULATION
// A device would return a wrong result; the emulation refuses the product.
TEST_F(CublasLtProducts, MustNotWriteWhatTheyRead) {
  const Case c = MakeCase({40, 40, 40}, DataType::kBfloat16, false, false);
  Product product = c.Get(DataType::kBfloat16, *c.a, DataType::kBfloat16);
  EXPECT_THROW(products_->Run(product, stream_->get()), std::runtime_error);
  product =
      c.Get(DataType::kBfloat16, Unwritten(40 * 40, DataType::kBfloat16), DataType::kBfloat16);
  product.epilogue = ProductEpilogue::kGeluGradient;
  product.aux = product.d;
  EXPECT_THROW(products_->Run(product, stream_->get()), std::runtime_error);
}
#endif

TEST_F(CublasLtProducts, UseTheChosenAlgorithmAndPassOverWhatDoesNotFit) {
  const Case c = MakeCase({24, 40, 64}, DataType::kBfloat16, false, true);
  const DeviceArray d = Unwritten(24 * 40, DataType::kFloat32);
  const Product product = c.Get(DataType::kBfloat16, d, DataType::kFloat32);
  const auto candidates = products_->Candidates(product, 16);
  ASSERT_FALSE(candidates.empty());
  for (const auto& candidate : candidates) {
    ASSERT_TRUE(products_->TryRun(product, candidate, stream_->get()));
    const std::vector<float> expected = d.Get();
    GemmChoices choices("this device");
    choices.Set(KindOf(product).Text(), EncodeAlgorithm(candidate));
    CublasLt chosen(workspace_->data(), GemmChoices::Parse(choices.Encode()));
    chosen.Run(product, stream_->get());
    EXPECT_EQ(d.Get(), expected);
  }
  GemmChoices damaged("this device");
  damaged.Set(KindOf(product).Text(), "00ff");
  CublasLt undisturbed(workspace_->data(), damaged);
  undisturbed.Run(product, stream_->get());
  ExpectNear(d, DataType::kFloat32, c, [&](int64_t i, int64_t j) { return c.Sum(i, j); });
}

// In bf16, 256 + 1 is 256, so a partial sum that is rounded to bf16 loses the 1.
TEST_F(CublasLtProducts, KeepPartsOfASumInTheResultsTypeOnlyWhereThatIsFp32) {
  std::vector<float> rows(16 * 64);
  for (size_t row = 0; row < 16; ++row) {
    rows[row * 64] = 256;
    rows[row * 64 + 1] = 1;
    rows[row * 64 + 32] = -256;
  }
  const DeviceArray a(rows, DataType::kBfloat16);
  const DeviceArray b(std::vector<float>(64 * 16, 1), DataType::kBfloat16);
  const Case c{{16, 16, 64}, false, true, &a, &b};
  for (const DataType type : {DataType::kBfloat16, DataType::kFloat32}) {
    const DeviceArray d = Unwritten(16 * 16, type);
    const Product product = c.Get(DataType::kBfloat16, d, type);
    const auto candidates = products_->Candidates(product, 32);
#ifdef GP_CUDA_EMULATION
    // One algorithm sums without partial sums; the others keep them in fp32 or in the result's
    // type.
    EXPECT_EQ(candidates.size(), type == DataType::kFloat32 ? 3u : 2u);
#endif
    for (const auto& candidate : candidates) {
      ASSERT_TRUE(products_->TryRun(product, candidate, stream_->get()));
      EXPECT_EQ(d.Get(), std::vector<float>(16 * 16, 1));
    }
  }
}

TEST_F(CublasLtProducts, ArePassedOverByChoice) {
  const Case c = MakeCase({24, 40, 32}, DataType::kBfloat16, false, true);
  const DeviceArray d = Unwritten(24 * 40, DataType::kBfloat16);
  const Product product = c.Get(DataType::kBfloat16, d, DataType::kBfloat16);
  EXPECT_TRUE(products_->Supports(product));
  EXPECT_FALSE(products_->HasFusionChoice(product));
  products_->SetFusionChoice(product, false);
  EXPECT_TRUE(products_->HasFusionChoice(product));
  CublasLt chosen(workspace_->data(), products_->InUse());
  for (CublasLt* products : {&*products_, &chosen}) {
    EXPECT_FALSE(products->Supports(product));
    EXPECT_TRUE(products->HasFusionChoice(product));
    EXPECT_EQ(products->InUse(), products_->InUse());
  }
}

}  // namespace
}  // namespace gp::engine
