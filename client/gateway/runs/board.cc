#include "client/gateway/runs/board.h"

namespace gp::gateway {

double UnixSeconds(const google::protobuf::Timestamp& time) {
  return static_cast<double>(time.seconds()) + 1e-9 * time.nanos();
}

const v1::Run* FindRun(const Board& board, const std::string& reference) {
  const v1::Run* named = nullptr;
  for (const v1::Run& run : board.runs) {
    if (run.run_id() == reference) return &run;
    if (named == nullptr && run.name() == reference) named = &run;
  }
  return named;
}

}  // namespace gp::gateway
