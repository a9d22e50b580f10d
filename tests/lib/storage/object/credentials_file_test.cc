// Goal: the profile that is asked for is read from a file as AWS's tools write it, and no error
// repeats a line of it.
#include "storage/object/credentials_file.h"

#include <gtest/gtest.h>

namespace gp::object {
namespace {

constexpr const char* kFile =
    "# aws_access_key_id = COMMENT\n"
    "aws_access_key_id = BEFORE\n"
    "[default]\n"
    "aws_access_key_id = AKID\r\n"
    "  aws_secret_access_key=se/cr=et+\n"
    "region = eu-west-1\n"
    "\n"
    "[ other ]\n"
    "aws_access_key_id=OTHER\n"
    "aws_secret_access_key=hidden\n"
    "aws_session_token=token\n"
    "[half]\n"
    "aws_access_key_id=HALF";

TEST(CredentialsFile, HasProfiles) {
  EXPECT_EQ(ParseCredentialsFile(kFile, "default").value(),
            (Credentials{.access_key_id = "AKID", .secret_access_key = "se/cr=et+"}));
  EXPECT_EQ(
      ParseCredentialsFile(kFile, "other").value(),
      (Credentials{
          .access_key_id = "OTHER", .secret_access_key = "hidden", .session_token = "token"}));
}

TEST(CredentialsFile, SaysWhatIsMissing) {
  EXPECT_EQ(ParseCredentialsFile(kFile, "absent").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(ParseCredentialsFile("", "default").status().code(), StatusCode::kNotFound);
  const Status half = ParseCredentialsFile(kFile, "half").status();
  EXPECT_EQ(half.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Message(half).find("HALF"), std::string::npos) << half;
}

}  // namespace
}  // namespace gp::object
