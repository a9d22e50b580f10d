// Goal: the likeliest tokens are those of a sorted row, whatever the row holds.
#include "worker/engine/backend/cuda/kernels/likeliest.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "worker/engine/backend/cuda/device_array.h"

namespace gp::engine {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Likeliest {
  std::vector<int32_t> ids;
  std::vector<float> values;
  bool operator==(const Likeliest&) const = default;
};

struct Rows {
  int64_t rows = 1;
  int64_t columns = 1;
  int64_t below = 1;
  int64_t count = 1;
};

class LikeliestKernel : public DeviceTest {
 protected:
  static Likeliest Find(const Rows& sizes, const std::vector<float>& logits) {
    const DeviceArray array(logits, DataType::kFloat32);
    const auto results = static_cast<size_t>(std::max<int64_t>(sizes.rows * sizes.count, 1));
    const DeviceValues<int32_t> ids(results, -1);
    const DeviceValues<float> values(results, std::nanf(""));
    LaunchLikeliest({.rows = sizes.rows,
                     .columns = sizes.columns,
                     .below = sizes.below,
                     .count = sizes.count,
                     .logits = array.f32(),
                     .ids = ids.data(),
                     .values = values.data()},
                    nullptr);
    return {ids.Get(), values.Get()};
  }

  // By sorting each row.
  static Likeliest Expected(const Rows& sizes, const std::vector<float>& logits) {
    Likeliest expected;
    for (int64_t row = 0; row < sizes.rows; ++row) {
      const auto at = [&](int32_t id) {
        const float value = logits[static_cast<size_t>(row * sizes.columns + id)];
        return std::isnan(value) ? -kInfinity : value;
      };
      std::vector<int32_t> ids(static_cast<size_t>(sizes.below));
      std::iota(ids.begin(), ids.end(), 0);
      std::stable_sort(ids.begin(), ids.end(), [&](int32_t a, int32_t b) { return at(a) > at(b); });
      for (int64_t i = 0; i < sizes.count; ++i) {
        expected.ids.push_back(ids[static_cast<size_t>(i)]);
        expected.values.push_back(at(ids[static_cast<size_t>(i)]));
      }
    }
    return expected;
  }

  static void ExpectSorted(const Rows& sizes, const std::vector<float>& logits) {
    const Likeliest found = Find(sizes, logits);
    const Likeliest expected = Expected(sizes, logits);
    EXPECT_EQ(found.ids, expected.ids);
    EXPECT_EQ(found.values, expected.values);
  }
};

TEST_F(LikeliestKernel, IsTheBeginningOfTheSortedRow) {
  for (const Rows& sizes : {Rows{3, 70, 61, 5}, Rows{1, 1, 1, 1}, Rows{2, 600, 600, 64},
                            Rows{1, 64, 64, 64}, Rows{2, 40000, 33000, 50}}) {
    SCOPED_TRACE(sizes.below);
    ExpectSorted(sizes, NormalValues(sizes.rows * sizes.columns, 3));
  }
}

TEST_F(LikeliestKernel, OfEqualLogitsTheLowerIdsComeFirst) {
  const Rows sizes{1, 36000, 36000, 64};
  ExpectSorted(sizes, std::vector<float>(36000, -2.5f));
  std::vector<float> logits = NormalValues(36000, 4);
  for (float& logit : logits) logit = std::round(2 * logit);  // a few values, and both zeros
  ExpectSorted(sizes, logits);
}

// The largest logits of a row may all be in the share of one thread.
TEST_F(LikeliestKernel, FindsThemWhereverTheyAre) {
  const Rows sizes{1, 32768, 32768, 64};
  std::vector<float> logits = NormalValues(32768, 5);
  for (size_t i = 7; i < logits.size(); i += 512) logits[i] += 100;
  ExpectSorted(sizes, logits);
}

TEST_F(LikeliestKernel, InfinitiesAreOrderedAndNoNumberIsTheLeast) {
  const Rows sizes{1, 700, 700, 3};
  std::vector<float> logits(700, -kInfinity);
  logits[5] = std::nanf("");
  ExpectSorted(sizes, logits);
  logits[600] = 1;
  logits[601] = kInfinity;
  ExpectSorted(sizes, logits);
}

TEST_F(LikeliestKernel, RefusesMoreThanThereAre) {
  for (const Rows& sizes : {Rows{1, 70, 70, 65}, Rows{1, 70, 4, 5}, Rows{1, 70, 70, 0}}) {
    EXPECT_THROW(Find(sizes, NormalValues(70, 1)), std::invalid_argument);
  }
}

}  // namespace
}  // namespace gp::engine
