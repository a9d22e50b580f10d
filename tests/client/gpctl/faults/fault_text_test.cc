#include "client/gpctl/faults/fault_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace gp::gpctl {
namespace {

using ::testing::HasSubstr;

FaultReport SampleReport() {
  return {.machine = "AMD EPYC, 2 cores",
          .seed = 7,
          .recovery = "in_place",
          .gradient_bytes = 10 << 20,
          .rows = {{"kill a rank", 4, 50, 0.0441, 0.104, 0, 0, 67, true},
                   {"kill all ranks", 4, 24, 1.25, 1.5, 1234, 30 << 20, 12, false}}};
}

TEST(FaultText, TheTableHasALineForEachFault) {
  const std::string text = FaultTable(SampleReport(), {});
  EXPECT_THAT(text,
              HasSubstr("AMD EPYC, 2 cores; 10.0 MiB of gradients a step; recovery: in_place; "
                        "seed 7\n"));
  EXPECT_THAT(text, HasSubstr("kill a rank         4     50        0.044 s  0.104 s       0       "
                              "0 B      67  equal\n"));
  EXPECT_THAT(text, HasSubstr("kill all ranks      4     24        1.250 s  1.500 s   1,234  "
                              "30.0 MiB      12  DIFFERENT\n"));
}

TEST(FaultText, TheDocumentHasEachField) {
  EXPECT_EQ(FaultFields(SampleReport()), Json::parse(R"({
      "machine": "AMD EPYC, 2 cores", "seed": 7, "recovery": "in_place",
      "gradient_bytes": 10485760, "rows": [
      {"fault": "kill a rank", "ranks": 4, "kills": 50, "next_step_seconds_p50": 0.0441,
       "next_step_seconds_p99": 0.104, "steps_redone": 0, "checkpoint_bytes_read": 0,
       "epochs": 67, "weights_equal": true},
      {"fault": "kill all ranks", "ranks": 4, "kills": 24, "next_step_seconds_p50": 1.25,
       "next_step_seconds_p99": 1.5, "steps_redone": 1234, "checkpoint_bytes_read": 31457280,
       "epochs": 12, "weights_equal": false}]})"));
}

}  // namespace
}  // namespace gp::gpctl
