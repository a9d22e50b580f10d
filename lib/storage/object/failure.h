// What an answer of the object store that is no success means: the error for the caller, and
// whether the request is sent again. Pure; thread-safe.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "storage/object/http_transport.h"

namespace gp::object {

enum class Remedy {
  kNone,
  kRetry,            // the server is busy, or failed inside
  kReadCredentials,  // they have expired or were replaced: read them again, once
  kSignAgain,        // the clocks differ: once, because a clock may just have been set
};

struct Failure {
  Status status;
  Remedy remedy = Remedy::kNone;
};

struct FailedRequest {
  std::string bucket;
  std::string origin;
  WallTime signed_at;
};

// NotFound: the object or the upload does not exist. Aborted: a condition (If-Match,
// If-None-Match) does not hold. A bucket that does not exist is FailedPrecondition.
Failure FailureOf(const HttpAnswer& answer, const FailedRequest& request);

}  // namespace gp::object
