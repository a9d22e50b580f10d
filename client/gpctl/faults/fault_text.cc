#include "client/gpctl/faults/fault_text.h"

#include <fmt/format.h>

#include "client/gpctl/terminal/number_text.h"
#include "client/gpctl/terminal/table.h"

namespace gp::gpctl {

std::string FaultTable(const FaultReport& report, const TextStyle& style) {
  Table table({{.title = "FAULT"},
               {.title = "RANKS", .align = Align::kRight, .rank = 2},
               {.title = "KILLS", .align = Align::kRight},
               {.title = "NEXT STEP P50", .align = Align::kRight},
               {.title = "P99", .align = Align::kRight},
               {.title = "REDONE", .align = Align::kRight},
               {.title = "READ", .align = Align::kRight, .rank = 1},
               {.title = "EPOCHS", .align = Align::kRight, .rank = 3},
               {.title = "WEIGHTS"}});
  for (const FaultRow& row : report.rows) {
    table.AddRow({row.fault, fmt::format("{}", row.ranks), fmt::format("{}", row.kills),
                  fmt::format("{:.3f} s", row.next_step_seconds_p50),
                  fmt::format("{:.3f} s", row.next_step_seconds_p99),
                  WithThousands(row.steps_redone), Bytes(row.checkpoint_bytes_read),
                  WithThousands(row.epochs), row.weights_equal ? "equal" : "DIFFERENT"});
  }
  return fmt::format(
      "{}; {} of gradients a step; recovery: {}; seed {}\n\n{}\n"
      "NEXT STEP: from the kill to the first step that the run committed after it. REDONE: steps "
      "taken again from a\ncheckpoint. READ: bytes of checkpoints. WEIGHTS: compared with a run "
      "without faults.\n",
      report.machine, Bytes(report.gradient_bytes), report.recovery, report.seed,
      table.Render(style.width, style.utf8));
}

Json FaultFields(const FaultReport& report) {
  Json rows = Json::array();
  for (const FaultRow& row : report.rows) {
    rows.push_back({{"fault", row.fault},
                    {"ranks", row.ranks},
                    {"kills", row.kills},
                    {"next_step_seconds_p50", row.next_step_seconds_p50},
                    {"next_step_seconds_p99", row.next_step_seconds_p99},
                    {"steps_redone", row.steps_redone},
                    {"checkpoint_bytes_read", row.checkpoint_bytes_read},
                    {"epochs", row.epochs},
                    {"weights_equal", row.weights_equal}});
  }
  return {{"machine", report.machine},
          {"seed", report.seed},
          {"recovery", report.recovery},
          {"gradient_bytes", report.gradient_bytes},
          {"rows", std::move(rows)}};
}

}  // namespace gp::gpctl
