// Runs gp-evaluator and shows its progress. Used by the command's thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/gpctl/render/run_json.h"
#include "client/gpctl/session/exit_code.h"
#include "client/gpctl/session/session.h"

namespace gp::gpctl {

struct EvaluatorRun {
  ExitCode code = ExitCode::kOk;  // not kOk: the program has printed its error on stderr
  std::optional<Json> result;     // of kOk
};

// Internal if it was killed or printed no result.
StatusOr<EvaluatorRun> RunEvaluator(const std::vector<std::string>& arguments, Session& session);

}  // namespace gp::gpctl
