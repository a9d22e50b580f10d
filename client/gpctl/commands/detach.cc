#include "client/gpctl/commands/detach.h"

namespace gp::gpctl {

ExitCode SayDetached(const std::string& run_name, const std::string& comeback, Session& session) {
  session.console().out.flush();
  session.console().err << fmt::format(
      "Detached. {} keeps going.  Stop it: gpctl cancel {}   Again: {}\n", run_name, run_name,
      comeback);
  return ExitCode::kInterrupted;
}

}  // namespace gp::gpctl
