#include "client/gpctl/session/model_copy.h"

namespace gp::gpctl {

interop::CopyOptions ModelCopy(bool allow_not_finite, Session& session) {
  interop::CopyOptions copy;
  if (allow_not_finite) copy.not_finite = interop::NotFinite::kTake;
  copy.keep_going = [&session] {
    const bool stop = session.console().interruption.requested();
    return stop ? Cancelled("interrupted; nothing was written") : OkStatus();
  };
  return copy;
}

}  // namespace gp::gpctl
