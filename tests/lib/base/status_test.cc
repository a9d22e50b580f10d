#include "base/status.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>

namespace gp {
namespace {

Status Fails() { return NotFound("run '{}' does not exist", "blue"); }
StatusOr<int> Six() { return 6; }
StatusOr<int> NoNumber() { return InvalidArgument("not a number"); }

Status PassesOn(Status status) {
  RETURN_IF_ERROR(status);
  return AlreadyExists("got past");
}

StatusOr<int> Doubled(StatusOr<int> (*make)()) {
  ASSIGN_OR_RETURN(const int value, make());
  return 2 * value;
}

TEST(Status, FormatsItsMessage) {
  EXPECT_EQ(Fails().code(), StatusCode::kNotFound);
  EXPECT_EQ(Message(Fails()), "run 'blue' does not exist");
}

TEST(Status, MessageOfATemporaryOutlivesIt) {
  const std::string message = Message(NotFound("{}", std::string(200, 'x')));
  EXPECT_EQ(message, std::string(200, 'x'));
}

TEST(Status, ReturnIfErrorLeavesOnlyOnAnError) {
  EXPECT_EQ(PassesOn(Fails()).code(), StatusCode::kNotFound);
  EXPECT_EQ(PassesOn(OkStatus()).code(), StatusCode::kAlreadyExists);
}

TEST(Status, AssignOrReturnBindsOrPassesTheErrorOn) {
  EXPECT_EQ(Doubled(Six).value(), 12);
  EXPECT_EQ(Doubled(NoNumber).status().code(), StatusCode::kInvalidArgument);
}

TEST(Status, AssignOrReturnMovesWhatCannotBeCopied) {
  const auto run = []() -> StatusOr<int> {
    ASSIGN_OR_RETURN(std::unique_ptr<int> box,
                     StatusOr<std::unique_ptr<int>>(std::make_unique<int>(3)));
    return *box;
  };
  EXPECT_EQ(run().value(), 3);
}

TEST(Status, ContextComesBeforeTheMessageAndKeepsTheCode) {
  const Status status = WithContext(Fails(), "resume");
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_EQ(Message(status), "resume: run 'blue' does not exist");
  EXPECT_TRUE(WithContext(OkStatus(), "resume").ok());
}

TEST(Status, ErrnoBecomesTheCodeThatFitsAndNamesThePath) {
  const struct {
    int error_number;
    StatusCode code;
  } kCases[] = {{ENOENT, StatusCode::kNotFound},
                {EEXIST, StatusCode::kAlreadyExists},
                {EROFS, StatusCode::kPermissionDenied},
                {ENOSPC, StatusCode::kResourceExhausted},
                {EADDRINUSE, StatusCode::kFailedPrecondition},
                {ECONNREFUSED, StatusCode::kUnavailable},
                {ETIMEDOUT, StatusCode::kDeadlineExceeded},
                {EIO, StatusCode::kInternal}};
  for (const auto& [error_number, code] : kCases) {
    const Status status = ErrnoStatus(error_number, "write", "/data/x");
    EXPECT_EQ(status.code(), code) << error_number;
    EXPECT_EQ(Message(status).rfind("write /data/x: ", 0), 0u) << Message(status);
  }
}

}  // namespace
}  // namespace gp
