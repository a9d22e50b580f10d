#include "coordinator/service/run_labels.h"

#include <gtest/gtest.h>

namespace gp::coordinator {
namespace {

TEST(RunLabels, TheModelIsItsSizesNameOrItsShape) {
  runspec::ModelShape shape = runspec::NamedModelShape("124M").value();
  shape.context = 256;
  EXPECT_EQ(ModelLabel(shape), "124M");
  shape.layers = 6;
  EXPECT_EQ(ModelLabel(shape), "L6 H12 C768");
}

TEST(RunLabels, TheDatasetIsTheLastPartOfItsFirstPath) {
  EXPECT_EQ(DatasetLabel({.text = {"/data/a.txt", "/data/b.txt", "c.txt"}}), "a.txt +2");
  EXPECT_EQ(DatasetLabel({.train = {"/data/fineweb/fineweb_train_*.bin"}}), "fineweb_train_*.bin");
  EXPECT_EQ(DatasetLabel({.stream = {"/data/wiki/"}}), "wiki");
  EXPECT_EQ(DatasetLabel({}), "");
}

TEST(RunLabels, ThePrecisionIsThatOfTheRunFile) {
  EXPECT_EQ(PrecisionLabel(runspec::Precision::kFp8), "fp8");
  EXPECT_EQ(PrecisionLabel(runspec::RunSpec().precision), "auto");
}

}  // namespace
}  // namespace gp::coordinator
