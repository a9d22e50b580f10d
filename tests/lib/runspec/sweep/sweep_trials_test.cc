#include "runspec/sweep/sweep_trials.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <set>

namespace gp::runspec {
namespace {

SweptKey Grid(std::string path, std::vector<std::string> values) {
  return {.path = std::move(path), .line = 1, .values = std::move(values), .range = {}};
}

SweptKey Range(std::string path, SweepRange range) {
  return {.path = std::move(path), .line = 1, .values = {}, .range = range};
}

TEST(SweepTrials, AreEveryCombinationWithEverySeed) {
  SweepFile file;
  file.grid = {Grid("optimizer.lr", {"1e-3", "1e-2"}), Grid("batch.micro_batch", {"2"})};
  file.seeds = {"1", "2"};
  EXPECT_EQ(CountTrials(file), 4U);
  EXPECT_EQ(TrialFactors(file), "2 x 1 x 2");
  const std::vector<TrialSettings> trials = ExpandTrials(file);
  ASSERT_EQ(trials.size(), 4U);
  EXPECT_EQ(trials[0],
            (TrialSettings{{"optimizer.lr", "1e-3"}, {"batch.micro_batch", "2"}, {"seed", "1"}}));
  EXPECT_EQ(trials[1],
            (TrialSettings{{"optimizer.lr", "1e-3"}, {"batch.micro_batch", "2"}, {"seed", "2"}}));
  EXPECT_EQ(trials[3],
            (TrialSettings{{"optimizer.lr", "1e-2"}, {"batch.micro_batch", "2"}, {"seed", "2"}}));
}

TEST(SweepTrials, DrawsDependOnTheFileAloneAndStayInTheirRange) {
  SweepFile file;
  file.random = {Range("optimizer.lr", {.min = 1e-4, .max = 1e-2, .log = true}),
                 Range("model.n_layer", {.min = 1, .max = 3, .whole = true}),
                 Grid("schedule.kind", {"cosine", "linear"})};
  file.random_trials = 300;
  const std::vector<TrialSettings> trials = ExpandTrials(file);
  ASSERT_EQ(trials.size(), 300U);
  EXPECT_EQ(ExpandTrials(file), trials);
  int low_rates = 0;
  std::map<std::string, int> layers, kinds;
  for (const TrialSettings& trial : trials) {
    const double rate = std::stod(trial[0].second);
    EXPECT_GE(rate, 1e-4);
    EXPECT_LE(rate, 1e-2);
    if (rate < 1e-3) ++low_rates;
    ++layers[trial[1].second];
    ++kinds[trial[2].second];
  }
  EXPECT_NEAR(low_rates, 150, 40);  // half of them: evenly in the logarithm
  ASSERT_EQ(layers.size(), 3U);
  for (const auto& [layer, count] : layers) EXPECT_NEAR(count, 100, 40) << layer;
  ASSERT_EQ(kinds.size(), 2U);
  file.random_seed = 2;
  EXPECT_NE(ExpandTrials(file), trials);
}

TEST(SweepTrials, DrawsFromNarrowRangesStayApartAndInside) {
  SweepFile file;
  file.random = {Range("optimizer.beta2", {.min = 0.99995, .max = 0.99999}),
                 Range("optimizer.lr", {.min = 0.1, .max = 0.9})};
  file.random_trials = 100;
  std::set<std::string> narrow;
  for (const TrialSettings& trial : ExpandTrials(file)) {
    narrow.insert(trial[0].second);
    EXPECT_GE(std::stod(trial[0].second), 0.99995);
    EXPECT_LE(std::stod(trial[0].second), 0.99999);
    EXPECT_LE(trial[1].second.size(), 6U) << "four digits: " << trial[1].second;
  }
  EXPECT_GT(narrow.size(), 90U);
}

TEST(SweepTrials, TheirNumberDoesNotOverflow) {
  SweepFile file;
  for (int i = 0; i < 20; ++i) {
    file.grid.push_back(Grid(fmt::format("k{}", i), std::vector<std::string>(1000, "x")));
  }
  EXPECT_EQ(CountTrials(file), std::numeric_limits<uint64_t>::max());
}

}  // namespace
}  // namespace gp::runspec
