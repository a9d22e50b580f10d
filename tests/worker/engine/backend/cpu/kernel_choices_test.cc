// Goal: kernel choices are the same after being written and read, a damaged entry is named in the
// error, and no choice changes a product's bits with any instruction set.
#include "worker/engine/backend/cpu/kernel_choices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker/engine/backend/backend_fixture.h"

namespace gp::engine {
namespace {

const LinearShape kShape{70, 301, 103};

std::vector<GemmChoice> VariousChoices() {
  return {{},
          {.packed = PackedOperand::kFirst},
          {.packed = PackedOperand::kFirst, .depth = 32, .columns = 48, .pieces = 2},
          {.packed = PackedOperand::kSecond, .depth = 16, .columns = 10, .pieces = 1},
          {.packed = PackedOperand::kFirst, .depth = 1024, .columns = 3072, .pieces = 4},
          {.depth = 128, .columns = 96, .pieces = 2}};
}

KernelChoices AllOf(const GemmChoice& choice) {
  KernelChoices choices;
  for (const DataType type : {DataType::kFloat32, DataType::kBfloat16}) {
    for (const GemmProblem& problem : ProblemsOf(kShape, type)) choices.Set(problem, choice);
  }
  return choices;
}

// The results of all three products of a layer, concatenated.
std::vector<float> BitsWith(Isa isa, DataType type, const GemmChoice& choice) {
  const auto backend = MakeCpuBackend({.threads = 4, .isa = isa, .choices = AllOf(choice)});
  const auto [rows, in, out] = kShape;
  Array x(RandomValues(rows * in, 1), type);
  Array w(RandomValues(out * in, 2), type);
  Array dy(RandomValues(rows * out, 3), type);
  Array bias(RandomValues(out, 4), type);
  Array y = Zeros(rows * out, type);
  Array gelu = Zeros(rows * out, type);
  Array dx = Zeros(rows * in, type);
  std::vector<float> dw(static_cast<size_t>(out * in), 1);
  backend->Forward(
      LinearForward{kShape, y.buffer(), x.buffer(), w.buffer(), bias.buffer(), gelu.buffer()});
  backend->BackwardInput({kShape, dx.buffer(), dy.buffer(), w.buffer(), x.buffer()});
  backend->BackwardWeight({kShape, dw.data(), nullptr, dy.buffer(), x.buffer(), true});
  std::vector<float> bits = dw;
  for (Array* array : {&y, &gelu, &dx}) {
    for (int64_t i = 0; i < array->size(); ++i) bits.push_back(array->at(i));
  }
  return bits;
}

TEST(KernelChoices, NoChoiceChangesBits) {
  for (const Isa isa : SupportedIsas()) {
    for (const DataType type : {DataType::kFloat32, DataType::kBfloat16}) {
      const std::vector<float> expected = BitsWith(isa, type, {});
      for (const GemmChoice& choice : VariousChoices()) {
        EXPECT_EQ(BitsWith(isa, type, choice), expected)
            << IsaName(isa) << ", " << AllOf(choice).Encode();
      }
    }
  }
}

TEST(KernelChoices, AreReadAsTheyWereWritten) {
  for (const GemmChoice& choice : VariousChoices()) {
    const KernelChoices choices = AllOf(choice);
    EXPECT_EQ(KernelChoices::Parse(choices.Encode()), choices);
  }
  EXPECT_EQ(KernelChoices::Parse(""), KernelChoices::Default());
}

TEST(KernelChoices, ADamagedEntryIsNamed) {
  const std::string good =
      "forward 256x50304x768 fp32: packed=first depth=256 columns=768 pieces=2";
  EXPECT_FALSE(KernelChoices::Parse(good).empty());
  for (size_t length = 1; length < good.size(); ++length) {
    const std::string cut = good.substr(0, length);
    EXPECT_THROW(KernelChoices::Parse(cut + "\n"), std::invalid_argument) << cut;
  }
  for (const std::string bad : {"sideways 2x2x2 fp32: packed=auto depth=0 columns=0 pieces=0",
                                "forward 0x2x2 fp32: packed=auto depth=0 columns=0 pieces=0",
                                "forward 2x2x2 fp16: packed=auto depth=0 columns=0 pieces=0",
                                "forward 2x2x2 fp32: packed=auto depth=17 columns=0 pieces=0",
                                "forward 2x2x2 fp32: packed=auto depth=0 columns=9999 pieces=0"}) {
    try {
      KernelChoices::Parse(good + "\n" + bad + "\n");
      ADD_FAILURE() << bad;
    } catch (const std::invalid_argument& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(bad));
    }
  }
  EXPECT_THROW(KernelChoices::Parse(good + "\n" + good), std::invalid_argument);
}

TEST(KernelChoices, TuningChoosesForEveryProblem) {
  const std::vector<GemmProblem> problems = ProblemsOf({16, 32, 48}, DataType::kFloat32);
  const KernelChoices tuned = KernelChoices::Tune(problems, Isa::kAuto, 2);
  EXPECT_EQ(KernelChoices::Parse(tuned.Encode()), tuned);
  EXPECT_FALSE(tuned.empty());
}

}  // namespace
}  // namespace gp::engine
