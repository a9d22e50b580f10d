#include "client/gpctl/session/age.h"

#include <algorithm>
#include <chrono>

#include "base/duration.h"

namespace gp::gpctl {

// Make a call first: the coordinator's answers carry the time of its clock.
StatusOr<double> TimeAgo(const std::string& age, Session& session) {
  const auto duration = ParseDuration(age);
  if (!duration.ok()) return WithContext(duration.status(), "--since " + age);
  ASSIGN_OR_RETURN(client::RunClient * client, session.Client());
  RETURN_IF_ERROR(client->Version().status());
  return std::max(0.0, session.Now() - std::chrono::duration<double>(*duration).count());
}

}  // namespace gp::gpctl
