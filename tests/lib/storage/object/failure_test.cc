// Goal: each answer that is no success becomes the right error, with what to do, and is repeated
// only when that may help.
#include "storage/object/failure.h"

#include <gtest/gtest.h>

namespace gp::object {
namespace {

HttpAnswer AnswerOf(int status, const std::string& code, const std::string& more = "") {
  HttpAnswer answer;
  answer.status = status;
  answer.body = "<Error><Code>" + code + "</Code><Message>why</Message>" + more + "</Error>";
  return answer;
}

Failure Judge(const HttpAnswer& answer) {
  return FailureOf(answer, {.bucket = "bucket",
                            .origin = "http://server",
                            .signed_at = WallTime(std::chrono::seconds(1369353600))});
}

bool Says(const Failure& failure, const std::string& text) {
  return Message(failure.status).find(text) != std::string::npos;
}

TEST(Failure, ABusyServerIsAskedAgain) {
  for (const int status : {429, 500, 502, 503, 504}) {
    HttpAnswer page;
    page.status = status;
    page.body = "<html>a proxy's page</html>";
    EXPECT_EQ(Judge(page).remedy, Remedy::kRetry) << status;
    EXPECT_EQ(Judge(page).status.code(), StatusCode::kUnavailable) << status;
  }
  EXPECT_EQ(Judge(AnswerOf(400, "RequestTimeout")).remedy, Remedy::kRetry);
  EXPECT_EQ(Judge(AnswerOf(503, "SlowDown")).remedy, Remedy::kRetry);
  EXPECT_TRUE(Says(Judge(AnswerOf(503, "SlowDown")), "answered 503 SlowDown (why)"));
}

TEST(Failure, ARequestThatIsWrongIsNotRepeated) {
  struct Case {
    int status;
    const char* code;
    StatusCode expected;
  };
  for (const Case& wrong : {Case{400, "InvalidPart", StatusCode::kInvalidArgument},
                            Case{403, "AccessDenied", StatusCode::kPermissionDenied},
                            Case{403, "SignatureDoesNotMatch", StatusCode::kPermissionDenied},
                            Case{404, "NoSuchKey", StatusCode::kNotFound},
                            Case{404, "NoSuchUpload", StatusCode::kNotFound},
                            Case{404, "NoSuchBucket", StatusCode::kFailedPrecondition},
                            Case{412, "PreconditionFailed", StatusCode::kAborted},
                            Case{501, "NotImplemented", StatusCode::kUnimplemented},
                            Case{507, "StorageFull", StatusCode::kResourceExhausted},
                            Case{301, "PermanentRedirect", StatusCode::kFailedPrecondition}}) {
    const Failure failure = Judge(AnswerOf(wrong.status, wrong.code));
    EXPECT_EQ(failure.remedy, Remedy::kNone) << wrong.code;
    EXPECT_EQ(failure.status.code(), wrong.expected) << wrong.code;
  }
}

TEST(Failure, ClocksThatDifferAreNamedWithBothTimes) {
  const Failure failure =
      Judge(AnswerOf(403, "RequestTimeTooSkewed", "<ServerTime>2013-05-24T01:02:03Z</ServerTime>"));
  EXPECT_EQ(failure.remedy, Remedy::kSignAgain);
  EXPECT_TRUE(Says(failure, "this machine's clock says 2013-05-24T00:00:00Z")) << failure.status;
  EXPECT_TRUE(Says(failure, "the server's 2013-05-24T01:02:03Z")) << failure.status;
}

TEST(Failure, StaleCredentialsAreReadAgain) {
  EXPECT_EQ(Judge(AnswerOf(400, "ExpiredToken")).remedy, Remedy::kReadCredentials);
  EXPECT_EQ(Judge(AnswerOf(403, "InvalidAccessKeyId")).remedy, Remedy::kReadCredentials);
}

TEST(Failure, SaysWhatToDo) {
  EXPECT_TRUE(Says(Judge(AnswerOf(404, "NoSuchBucket")), "create the bucket bucket at"));
  EXPECT_TRUE(Says(Judge(AnswerOf(403, "AccessDenied")), "permission to list"));
  EXPECT_TRUE(Says(Judge(AnswerOf(403, "SignatureDoesNotMatch")), "secret access key"));
  HttpAnswer elsewhere = AnswerOf(301, "PermanentRedirect");
  elsewhere.headers = {{"x-amz-bucket-region", "eu-west-1"}};
  EXPECT_TRUE(Says(Judge(elsewhere), "the bucket is in region eu-west-1"));
}

}  // namespace
}  // namespace gp::object
