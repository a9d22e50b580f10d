#include "coordinator/telemetry/curve_columns.h"

#include <gtest/gtest.h>

#include <cmath>

#include "coordinator/telemetry/run_log_codec.h"

namespace gp::coordinator {
namespace {

using Values = std::vector<std::optional<double>>;

contract::TrainingPoint Sample() {
  contract::TrainingPoint point;
  point.step = 123'456;
  point.tokens = 9'876'543'210;
  point.epoch = 7;
  point.at_us = 1'700'000'000'123'456;
  point.loss = 3.25;
  point.learning_rate = 6e-4;
  point.mfu = 0.5;
  point.validation_loss = 3.5;
  point.scores = {{"val_bpb", 0.9}, {"sums/completion/acc", 0.25}};
  point.peak_source = "measured";
  return point;
}

StatusOr<CurveRow> Read(const std::vector<std::string>& fields,
                        const contract::TrainingPoint& point) {
  ASSIGN_OR_RETURN(const CurveColumns columns, CurveColumns::Make(fields));
  CurveRow row;
  if (!columns.Read(EncodePoint(point), row)) return DataLoss("not read");
  return row;
}

TEST(CurveColumns, ReadsWhatTheCodecWrites) {
  const auto row = Read({"loss", "val_loss", "lr", "mfu", "sums/completion/acc"}, Sample());
  ASSERT_TRUE(row.ok()) << row.status();
  EXPECT_EQ(row->step, 123'456);
  EXPECT_EQ(row->tokens, 9'876'543'210);
  EXPECT_EQ(row->epoch, 7u);
  EXPECT_EQ(row->at_us, 1'700'000'000'123'456);
  EXPECT_EQ(row->values, (Values{3.25, 3.5, 6e-4, 0.5, 0.25}));
}

TEST(CurveColumns, AZeroIsAValueUnlessItMeansUnknown) {
  const auto row = Read({"loss", "val_loss", "lr", "mfu", "val_bpb"}, contract::TrainingPoint());
  ASSERT_TRUE(row.ok()) << row.status();
  EXPECT_EQ(row->values, (Values{0, std::nullopt, 0, std::nullopt, std::nullopt}));
}

TEST(CurveColumns, ReadsValuesThatAreNotFinite) {
  contract::TrainingPoint point = Sample();
  point.loss = NAN;
  point.gradient_norm = INFINITY;
  const auto row = Read({"loss", "grad_norm"}, point);
  ASSERT_TRUE(row.ok()) << row.status();
  EXPECT_TRUE(std::isnan(*row->values[0]));
  EXPECT_EQ(row->values[1], INFINITY);
}

TEST(CurveColumns, ForgetsThePointBefore) {
  const auto columns = CurveColumns::Make({"val_loss"});
  ASSERT_TRUE(columns.ok());
  CurveRow row;
  ASSERT_TRUE(columns->Read(EncodePoint(Sample()), row));
  contract::TrainingPoint next;
  next.step = 2;
  ASSERT_TRUE(columns->Read(EncodePoint(next), row));
  EXPECT_EQ(row.step, 2);
  EXPECT_EQ(row.tokens, 0);
  EXPECT_EQ(row.values, (Values{std::nullopt}));
}

TEST(CurveColumns, RefusesEveryCutOfAPointOrReadsItAsTheCodecDoes) {
  const auto columns = CurveColumns::Make({"loss", "val_bpb"});
  ASSERT_TRUE(columns.ok());
  const std::string bytes = EncodePoint(Sample());
  for (size_t size = 0; size <= bytes.size(); ++size) {
    CurveRow row;
    const std::string cut = bytes.substr(0, size);
    EXPECT_EQ(columns->Read(cut, row), DecodePoint(cut).has_value()) << size;
  }
}

TEST(CurveColumns, NamesAnUnknownField) {
  const auto columns = CurveColumns::Make({"loss", "los"});
  EXPECT_EQ(columns.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(columns.status().message(),
            "unknown field 'los'; a point has loss, lr, grad_norm, tokens_per_second, mfu, "
            "step_seconds, val_loss and scores such as val_bpb");
  EXPECT_FALSE(CurveColumns::Make({}).ok());
  EXPECT_FALSE(CurveColumns::Make({"loss", "loss"}).ok());
  EXPECT_FALSE(CurveColumns::Make({"step"}).ok()) << "an x axis";
}

}  // namespace
}  // namespace gp::coordinator
