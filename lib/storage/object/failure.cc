#include "storage/object/failure.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "storage/object/answers.h"
#include "storage/object/wire_time.h"

namespace gp::object {
namespace {

constexpr std::array<std::string_view, 7> kBusy = {
    "SlowDown",       "InternalError",    "ServiceUnavailable",        "RequestTimeout",
    "ServiceFailure", "OperationAborted", "ConditionalRequestConflict"};
constexpr std::array<std::string_view, 6> kStaleCredentials = {
    "ExpiredToken",         "ExpiredTokenException", "InvalidToken",
    "TokenRefreshRequired", "InvalidAccessKeyId",    "RequestExpired"};
constexpr std::array<int, 5> kBusyStatus = {429, 500, 502, 503, 504};

template <typename List, typename Value>
bool Has(const List& list, const Value& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

StatusCode CodeOf(int http_status, std::string_view code) {
  if (code == "NoSuchBucket") return StatusCode::kFailedPrecondition;
  if (Has(kBusyStatus, http_status)) return StatusCode::kUnavailable;
  switch (http_status) {
    case 400:
      return StatusCode::kInvalidArgument;
    case 401:
      return StatusCode::kUnauthenticated;
    case 403:
      return StatusCode::kPermissionDenied;
    case 404:
      return StatusCode::kNotFound;
    case 409:
    case 412:
      return StatusCode::kAborted;
    case 501:
      return StatusCode::kUnimplemented;
    case 507:
      return StatusCode::kResourceExhausted;
    default:
      return http_status < 400 ? StatusCode::kFailedPrecondition : StatusCode::kInternal;
  }
}

Remedy RemedyFor(int http_status, std::string_view code) {
  if (code == "RequestTimeTooSkewed") return Remedy::kSignAgain;
  if (Has(kStaleCredentials, code)) return Remedy::kReadCredentials;
  return Has(kBusyStatus, http_status) || Has(kBusy, code) ? Remedy::kRetry : Remedy::kNone;
}

// What the user can do; begins with a semicolon.
std::string Advice(const ErrorAnswer& error, const std::string& bucket_region,
                   const FailedRequest& request) {
  if (error.code == "RequestTimeTooSkewed") {
    return fmt::format("; this machine's clock says {}, the server's {}: set the clock",
                       AnswerTime(request.signed_at),
                       error.server_time.empty() ? "something else" : error.server_time);
  }
  if (Has(kStaleCredentials, error.code)) return "; renew the credentials";
  if (error.code == "NoSuchBucket") {
    return fmt::format("; create the bucket {} at {}", request.bucket, request.origin);
  }
  if (error.code == "SignatureDoesNotMatch") return "; check the secret access key";
  if (!bucket_region.empty()) return fmt::format("; the bucket is in region {}", bucket_region);
  return "";
}

}  // namespace

Failure FailureOf(const HttpAnswer& answer, const FailedRequest& request) {
  const ErrorAnswer error = ParseError(answer.body);
  const std::string region =
      error.region.empty() ? std::string(answer.HeaderValue("x-amz-bucket-region")) : error.region;
  std::string text = fmt::format("the object store answered {}", answer.status);
  if (!error.code.empty()) text += fmt::format(" {} ({})", error.code, error.message);
  if (answer.status == 403 && error.code == "AccessDenied") {
    text +=
        "; without the permission to list the bucket, this is also the answer for an object "
        "that does not exist";
  }
  const bool says_region =
      answer.status == 301 || answer.status == 307 || error.code == "AuthorizationHeaderMalformed";
  text += Advice(error, says_region ? region : "", request);
  return {MakeStatus(CodeOf(answer.status, error.code), "{}", text),
          RemedyFor(answer.status, error.code)};
}

}  // namespace gp::object
