#include "coordinator/notifications/notification_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "lib/base/temporary_directory.h"

namespace gp::coordinator {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Run RunIn(const std::string& run_namespace, const std::vector<std::string>& notify = {}) {
  Submission submission;
  submission.run_namespace = run_namespace;
  submission.notify = notify;
  Run run;
  run.submission = std::make_shared<const Submission>(submission);
  return run;
}

TEST(NotificationTarget, WantsItsEventsOfItsNamespaces) {
  NotificationTarget target{.events = {Occasion::kFailed}};
  EXPECT_TRUE(target.Wants(Occasion::kFailed, RunIn("any")));
  EXPECT_FALSE(target.Wants(Occasion::kFinished, RunIn("any")));
  target.namespaces = {"research"};
  EXPECT_TRUE(target.Wants(Occasion::kFailed, RunIn("research")));
  EXPECT_FALSE(target.Wants(Occasion::kFailed, RunIn("any")));
}

TEST(NotificationTarget, MayBeForRunsThatNameIt) {
  const NotificationTarget target{.name = "ana",
                                  .events = {Occasion::kFailed},
                                  .namespaces = {"research"},
                                  .runs = TargetRuns::kNamed};
  EXPECT_FALSE(target.Wants(Occasion::kFailed, RunIn("research")));
  EXPECT_FALSE(target.Wants(Occasion::kFailed, RunIn("research", {"bo"})));
  EXPECT_TRUE(target.Wants(Occasion::kFailed, RunIn("research", {"bo", "ana"})));
  EXPECT_FALSE(target.Wants(Occasion::kFinished, RunIn("research", {"ana"})));
  EXPECT_FALSE(target.Wants(Occasion::kFailed, RunIn("any", {"ana"}))) << "not its namespace";
}

TEST(NotificationTarget, TakesOnlyUrlsOfHttps) {
  EXPECT_TRUE(CheckUrl("https://example.com/x?y=1", false).ok());
  EXPECT_TRUE(CheckUrl("http://10.0.0.1:9000/x", true).ok());
  EXPECT_FALSE(CheckUrl("http://example.com/", false).ok());
  for (const char* url :
       {"", "example.com", "ftp://example.com/", "file:///etc/passwd", "gopher://x/", "https://",
        "https:///x", "https://user:password@example.com/", "https://exa mple.com/",
        "https://example.com/\n", "HTTPS-not"}) {
    EXPECT_FALSE(CheckUrl(url, true).ok()) << url;
  }
}

TEST(NotificationTarget, ReadsItsSecretsFromFilesAndNeverShowsThem) {
  const TemporaryDirectory directory;
  const std::string secret = directory.Write("secret", "0123456789abcdef\n");
  const std::string url = directory.Write("url", "https://hooks.example.com/T0/s3cret\r\n");
  NotificationTarget target{.url_file = url, .secret_file = secret};
  EXPECT_THAT(gp::Message(ReadSecret(target).status()), HasSubstr(secret));  // others may read it
  for (const std::string& file : {secret, url}) ASSERT_EQ(chmod(file.c_str(), 0600), 0);
  EXPECT_EQ(ReadSecret(target).value(), "0123456789abcdef");
  EXPECT_EQ(ReadUrl(target).value(), "https://hooks.example.com/T0/s3cret");
  directory.Write("secret", "short");
  directory.Write("url", "ftp://hooks.example.com/T0/s3cret");
  for (const std::string& file : {secret, url}) ASSERT_EQ(chmod(file.c_str(), 0600), 0);
  const std::string too_short = gp::Message(ReadSecret(target).status());
  EXPECT_THAT(too_short, HasSubstr("the secret has 5 bytes; it needs at least 16"));
  EXPECT_THAT(too_short, Not(HasSubstr("short")));
  const std::string bad_url = gp::Message(ReadUrl(target).status());
  EXPECT_THAT(bad_url, HasSubstr("must begin with https://"));
  EXPECT_THAT(bad_url, Not(HasSubstr("s3cret")));
}

}  // namespace
}  // namespace gp::coordinator
