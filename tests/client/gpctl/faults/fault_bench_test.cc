// A short measurement with real daemons and trainers.
#include "client/gpctl/faults/fault_bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <random>
#include <sstream>

namespace gp::gpctl {
namespace {

using ::testing::Each;
using ::testing::Field;
using ::testing::Gt;
using ::testing::SizeIs;

TEST(FaultBench, MeasuresEachKindOfFault) {
  const uint64_t seed = std::random_device{}();
  std::cout << "seed " << seed << "\n";
  const SystemClock clock;
  SystemClock console_clock;
  client::Interruption interruption;
  std::istringstream in;
  Console console{.in = in,
                  .out = std::cout,
                  .err = std::cerr,
                  .interruption = interruption,
                  .clock = console_clock};
  console.program_directory = std::getenv("GP_BIN");
  console.environment["TMPDIR"] = ::testing::TempDir();
  FaultService service(console);
  const Status started = service.Start(FaultBench::kAgents, FaultBench::kRanks / 2);
  ASSERT_TRUE(started.ok()) << started;
  FaultBench bench(service, {.kills = 3, .seed = seed, .steps = 100}, clock, interruption,
                   [](const std::string& line) { std::cout << line << "\n"; });
  const Status prepared = bench.Prepare();
  ASSERT_TRUE(prepared.ok()) << prepared;
  EXPECT_GT(bench.gradient_bytes(), 0u);
  const auto rows = bench.Run();
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_THAT(*rows, SizeIs(6));
  EXPECT_THAT(*rows, Each(Field(&FaultRow::weights_equal, true)));
  EXPECT_THAT(*rows, Each(Field(&FaultRow::kills, Gt(0))));
  EXPECT_THAT(*rows, Each(Field(&FaultRow::next_step_seconds_p50, Gt(0.0))));
  for (const FaultRow& row : *rows) {
    const bool restarts = row.fault == "kill all ranks";
    EXPECT_EQ(row.steps_redone > 0, restarts) << row.fault;
  }
}

}  // namespace
}  // namespace gp::gpctl
