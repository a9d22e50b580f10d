// Goal: what may pass is repeated within the budget, what cannot pass is not, and an answer that
// does not fit the request is never a success.
#include "storage/object/s3_client.h"

#include <gtest/gtest.h>

#include <atomic>

#include "lib/storage/object/scripted_server.h"
#include "lib/storage/object/test_client.h"
#include "storage/object/digest.h"

namespace gp::object {
namespace {

using End = ScriptedAnswer::End;
using std::chrono::milliseconds;

constexpr milliseconds kNoRetry{0};

// A client of a server with this script.
struct Session {
  explicit Session(ScriptedServer::Script script, milliseconds budget = std::chrono::seconds(60))
      : server(std::move(script)), client(OptionsAt(server.host(), budget), credentials, clock) {}

  ScriptedServer server;
  FixedCredentials credentials{kTestCredentials};
  Clock& clock = SystemClock();
  S3Client client;
};

// Answers with each entry in turn, then with the last one.
ScriptedServer::Script InTurn(std::vector<ScriptedAnswer> answers) {
  return [answers, next = size_t{0}](const SeenRequest&) mutable {
    return answers[std::min(next++, answers.size() - 1)];
  };
}

std::string EtagHeader(const std::string& data) { return "ETag: \"" + Hex(Md5(data)) + "\"\r\n"; }

TEST(S3Client, RepeatsWhatMayPass) {
  Session session(InTurn({ErrorReply(500, "InternalError"),
                          ErrorReply(503, "SlowDown"),
                          Reply(502, "<html>"),
                          Reply(429),
                          ErrorReply(400, "RequestTimeout"),
                          {"", End::kReset},
                          {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n1234"},
                          Reply(200, "12345", "ETag: e\r\n")}));
  EXPECT_EQ(session.client.Get("a", 5).value(), "12345");
  EXPECT_EQ(session.server.seen().size(), 8u);
}

TEST(S3Client, GivesUpWhenTheBudgetIsUsed) {
  Session session(InTurn({ErrorReply(503, "SlowDown")}), milliseconds(20));
  const Status put = session.client.Put("a", "x");
  EXPECT_EQ(put.code(), StatusCode::kUnavailable);
  EXPECT_NE(Message(put).find("put s3://bucket/a: the object store answered 503 SlowDown"),
            std::string::npos)
      << put;
  EXPECT_NE(Message(put).find("; gave up after "), std::string::npos) << put;
}

TEST(S3Client, DoesNotRepeatWhatCannotPass) {
  for (const auto& [status, code] : {std::pair(400, "InvalidRequest"),
                                     std::pair(403, "AccessDenied"), std::pair(404, "NoSuchKey")}) {
    Session session(InTurn({ErrorReply(status, code)}));
    EXPECT_FALSE(session.client.Put("a", "x").ok());
    EXPECT_EQ(session.server.seen().size(), 1u) << code;
  }
}

TEST(S3Client, ErrorsNameNoCredentials) {
  Session session(InTurn({ErrorReply(403, "SignatureDoesNotMatch")}));
  const std::string text = Message(session.client.Put("a", "x"));
  EXPECT_NE(text.find("SignatureDoesNotMatch"), std::string::npos) << text;
  for (const char* secret : {"hidden", "AKID"}) {
    EXPECT_EQ(text.find(secret), std::string::npos) << text;
  }
  // The secret key itself is not sent at all.
  EXPECT_EQ(session.server.seen()[0].text.find("hidden-secret"), std::string::npos);
}

TEST(S3Client, ReadsExpiredCredentialsAgain) {
  const ScriptedServer server([](const SeenRequest& request) {
    const bool is_new =
        request.headers.at("authorization").find("Credential=NEW/") != std::string::npos;
    return is_new ? Reply(200, "x", "ETag: e\r\n") : ErrorReply(400, "ExpiredToken");
  });
  FixedCredentials renewed(kTestCredentials, {.access_key_id = "NEW", .secret_access_key = "s"});
  EXPECT_EQ(S3Client(OptionsAt(server.host()), renewed, SystemClock()).Get("a", 1).value(), "x");
  EXPECT_EQ(server.seen().size(), 2u);
  FixedCredentials same(kTestCredentials);
  const Status expired =
      S3Client(OptionsAt(server.host()), same, SystemClock()).Get("a", 1).status();
  EXPECT_NE(Message(expired).find("renew the credentials"), std::string::npos) << expired;
  EXPECT_EQ(server.seen().size(), 3u) << "the same credentials are not sent again";
}

TEST(S3Client, SignsAgainOnceWhenTheClocksDiffer) {
  Session session(InTurn(
      {ErrorReply(403, "RequestTimeTooSkewed", "<ServerTime>2013-05-24T00:00:00Z</ServerTime>")}));
  const Status put = session.client.Put("a", "x");
  EXPECT_NE(Message(put).find("the server's 2013-05-24T00:00:00Z: set the clock"),
            std::string::npos)
      << put;
  EXPECT_EQ(session.server.seen().size(), 2u);
}

TEST(S3Client, APutIsCheckedByTheServersDigest) {
  Session good(InTurn({Reply(200, "", EtagHeader("x"))}), kNoRetry);
  EXPECT_TRUE(good.client.Put("a", "x").ok());
  EXPECT_EQ(good.server.seen()[0].headers.at("content-md5"), Base64(Md5("x")));
  Session other(InTurn({Reply(200, "", EtagHeader("y"))}), kNoRetry);
  EXPECT_EQ(other.client.Put("a", "x").code(), StatusCode::kDataLoss);
  EXPECT_EQ(other.client.PutPart("a", "id", 1, "x").status().code(), StatusCode::kDataLoss);
  // ETags of encrypted objects are no digests.
  Session encrypted(
      InTurn({Reply(200, "", EtagHeader("y") + "x-amz-server-side-encryption: aws:kms\r\n")}),
      kNoRetry);
  EXPECT_TRUE(encrypted.client.Put("a", "x").ok());
}

// A server answers HEAD without a body, so the same GET tells the reason.
TEST(S3Client, AHeadThatFailsSaysWhy) {
  Session session([](const SeenRequest& request) {
    if (request.method == "HEAD") return Reply(404);
    return ErrorReply(404, request.target == "/bucket/a" ? "NoSuchKey" : "NoSuchBucket");
  });
  EXPECT_EQ(session.client.Head("a").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(session.client.Head("b").status().code(), StatusCode::kFailedPrecondition);
}

TEST(S3Client, ARangeMustBeTheOneThatWasAskedFor) {
  const auto read = [](const std::string& status_line, const std::string& headers) {
    Session session(
        InTurn({{"HTTP/1.1 " + status_line + "\r\nContent-Length: 3\r\n" + headers + "\r\nabc"}}),
        kNoRetry);
    return session.client.GetRange("a", {.begin = 6, .size = 3}, "\"e\"").status().code();
  };
  EXPECT_EQ(read("206 X", "Content-Range: bytes 6-8/9\r\nETag: \"e\"\r\n"), StatusCode::kOk);
  EXPECT_EQ(read("206 X", "Content-Range: bytes 0-2/9\r\n"), StatusCode::kDataLoss);
  EXPECT_EQ(read("206 X", ""), StatusCode::kDataLoss);
  EXPECT_EQ(read("200 X", ""), StatusCode::kDataLoss);
  EXPECT_EQ(read("206 X", "Content-Range: bytes 6-8/9\r\nETag: \"f\"\r\n"), StatusCode::kAborted);
  EXPECT_EQ(read("412 X", ""), StatusCode::kAborted);
}

TEST(S3Client, ABodyWithoutALengthIsNotTrusted) {
  Session session(InTurn({{"HTTP/1.1 200 OK\r\nETag: e\r\n\r\nhalf of it"}}), kNoRetry);
  EXPECT_EQ(session.client.Get("a", 100).status().code(), StatusCode::kDataLoss);
}

// Between the client and the store there may be a proxy with a page of its own.
TEST(S3Client, APageOfSomebodyElseIsNoSuccess) {
  Session session(InTurn({Reply(200, "<html>Please log in</html>")}), kNoRetry);
  const S3Client& client = session.client;
  for (const Status& status :
       {client.Put("a", "x"), client.PutIfAbsent("a", "x", "w"), client.Get("a", 1000).status(),
        client.Head("a").status(), client.GetRange("a", {.size = 26}, "\"e\"").status(),
        client.List({}).status(), client.Delete("a"), client.CreateUpload("a").status(),
        client.PutPart("a", "id", 1, "x").status(), client.ListParts("a", "id").status(),
        client.CompleteUpload("a", "id", {}).status(), client.AbortUpload("a", "id"),
        client.ListUploads("").status()}) {
    EXPECT_EQ(status.code(), StatusCode::kDataLoss) << status;
  }
}

TEST(S3Client, AListMustStayBelowItsPrefix) {
  Session session(
      InTurn({Reply(
          200, "<ListBucketResult><Contents><Key>other/a</Key></Contents></ListBucketResult>")}),
      kNoRetry);
  EXPECT_EQ(session.client.List({.prefix = "mine/"}).status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(session.client.List({.prefix = "other/"})->keys, std::vector<std::string>{"other/a"});
}

TEST(S3Client, AListThatComesBackToAPageEnds) {
  Session parts(
      InTurn({Reply(200,
                    "<ListPartsResult><IsTruncated>true</IsTruncated>"
                    "<NextPartNumberMarker>1</NextPartNumberMarker></ListPartsResult>")}));
  EXPECT_EQ(parts.client.ListParts("a", "id").status().code(), StatusCode::kInternal);
  Session uploads(InTurn({Reply(
      200,
      "<ListMultipartUploadsResult><IsTruncated>true</IsTruncated><NextKeyMarker>a</NextKeyMarker>"
      "<NextUploadIdMarker>b</NextUploadIdMarker></ListMultipartUploadsResult>")}));
  EXPECT_EQ(uploads.client.ListUploads("").status().code(), StatusCode::kInternal);
}

TEST(S3Client, WhatIsGoneNeedsNoDeletion) {
  Session session(InTurn({ErrorReply(404, "NoSuchKey"), ErrorReply(404, "NoSuchUpload"),
                          ErrorReply(404, "NoSuchBucket")}));
  EXPECT_TRUE(session.client.Delete("a").ok());
  EXPECT_TRUE(session.client.AbortUpload("a", "id").ok());
  EXPECT_EQ(session.client.Delete("a").code(), StatusCode::kFailedPrecondition);
}

TEST(S3Client, ACompletionThatFailsInItsBodyIsRepeated) {
  Session session(InTurn({Reply(200, "<Error><Code>InternalError</Code></Error>"),
                          Reply(200,
                                "<CompleteMultipartUploadResult><ETag>\"e\"</ETag>"
                                "</CompleteMultipartUploadResult>")}));
  EXPECT_EQ(session.client.CompleteUpload("a", "id", {{1, "p", 1}}).value(), "e");
}

}  // namespace
}  // namespace gp::object
