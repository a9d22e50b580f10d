#include "client/gpctl/commands/detach.h"

namespace gp::gpctl {

ExitCode SayDetached(const std::string& run_name, const std::string& comeback, Session& session) {
  session.console().out.flush();
  session.console().err << fmt::format(
      "Detached. {} continues.  Stop it: {}   Follow it again: {}\n", run_name,
      session.Hint("cancel " + run_name), session.Hint(comeback));
  return ExitCode::kInterrupted;
}

}  // namespace gp::gpctl
