#include "client/gateway/runs/board.h"

namespace gp::gateway {

double UnixSeconds(const google::protobuf::Timestamp& time) {
  return static_cast<double>(time.seconds()) + 1e-9 * time.nanos();
}

const v1::Run* FindRun(const Board& board, const std::string& reference) {
  const v1::Run* named = nullptr;
  const auto take = [&](const v1::Run& run) {
    if (run.name() != reference) return;
    const bool is_newer =
        named == nullptr || UnixSeconds(run.submitted_at()) > UnixSeconds(named->submitted_at());
    if (is_newer) named = &run;
  };
  for (const v1::Run& run : board.runs) {
    if (run.run_id() == reference) return &run;
    take(run);
  }
  for (const auto& [id, run] : board.others) {
    if (id == reference) return &run;
    take(run);
  }
  return named;
}

}  // namespace gp::gateway
