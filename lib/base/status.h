// Status and StatusOr: how gp reports errors whose cause is outside the program. They are Abseil's
// types. The functions below format with fmt, so that a message can name the thing, what was
// expected and how to continue:
//
//   return NotFound("run '{}' does not exist; list them with 'gpctl list'", name);
//
// Values may be copied between threads; one object must not be written by two threads.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <fmt/format.h>

#include <string>
#include <utility>

namespace gp {

using Status = absl::Status;
using StatusCode = absl::StatusCode;
template <typename T>
using StatusOr = absl::StatusOr<T>;

inline Status OkStatus() { return absl::OkStatus(); }

// The text of a status. A std::string, because Debian's Abseil has a string_view of its own.
inline std::string Message(const Status& status) {
  return std::string(status.message().data(), status.message().size());
}

template <typename... Args>
Status MakeStatus(StatusCode code, fmt::format_string<Args...> format, Args&&... args) {
  return Status(code, fmt::format(format, std::forward<Args>(args)...));
}

#define GP_STATUS_CONSTRUCTOR(Name)                                                       \
  template <typename... Args>                                                             \
  Status Name(fmt::format_string<Args...> format, Args&&... args) {                       \
    return Status(StatusCode::k##Name, fmt::format(format, std::forward<Args>(args)...)); \
  }
GP_STATUS_CONSTRUCTOR(InvalidArgument)
GP_STATUS_CONSTRUCTOR(NotFound)
GP_STATUS_CONSTRUCTOR(AlreadyExists)
GP_STATUS_CONSTRUCTOR(Unauthenticated)
GP_STATUS_CONSTRUCTOR(PermissionDenied)
GP_STATUS_CONSTRUCTOR(FailedPrecondition)
GP_STATUS_CONSTRUCTOR(ResourceExhausted)
GP_STATUS_CONSTRUCTOR(Unavailable)
GP_STATUS_CONSTRUCTOR(DeadlineExceeded)
GP_STATUS_CONSTRUCTOR(Aborted)
GP_STATUS_CONSTRUCTOR(Cancelled)
GP_STATUS_CONSTRUCTOR(DataLoss)
GP_STATUS_CONSTRUCTOR(Internal)
GP_STATUS_CONSTRUCTOR(Unimplemented)
#undef GP_STATUS_CONSTRUCTOR

// The same status with "context: " before its message.
inline Status WithContext(const Status& status, const std::string& context) {
  if (status.ok()) return status;
  return Status(status.code(), context + ": " + Message(status));
}

// `operation` on `path` failed with `error_number`: the code that fits it, the path and strerror's
// words.
Status ErrnoStatus(int error_number, const std::string& operation, const std::string& path);

}  // namespace gp

#define GP_CONCAT_INNER(a, b) a##b
#define GP_CONCAT(a, b) GP_CONCAT_INNER(a, b)

// RETURN_IF_ERROR(DoThing()); leaves the enclosing function with the error of a Status expression.
#define RETURN_IF_ERROR(expression)          \
  do {                                       \
    ::gp::Status gp_status_ = (expression);  \
    if (!gp_status_.ok()) return gp_status_; \
  } while (false)

// ASSIGN_OR_RETURN(auto value, MakeValue()); the same for a StatusOr, binding its value.
#define ASSIGN_OR_RETURN(declaration, expression) \
  GP_ASSIGN_OR_RETURN_INNER(GP_CONCAT(gp_status_or_, __LINE__), declaration, expression)
#define GP_ASSIGN_OR_RETURN_INNER(holder, declaration, expression) \
  auto holder = (expression);                                      \
  if (!holder.ok()) return holder.status();                        \
  declaration = std::move(holder).value()
