// Goal: the credentials of a machine or a container are read as the clouds serve them, and no error
// repeats them.
#include "storage/object/instance_credentials.h"

#include <gtest/gtest.h>

#include "lib/storage/object/scripted_server.h"

namespace gp::object {
namespace {

constexpr const char* kMetadata =
    R"({"Code":"Success","AccessKeyId":"AKID","SecretAccessKey":"secret","Token":"token",)"
    R"("Expiration":"2013-05-24T00:00:00Z"})";

const Credentials kExpected{.access_key_id = "AKID",
                            .secret_access_key = "secret",
                            .session_token = "token",
                            .expires = WallTime(std::chrono::seconds(1369353600))};

TEST(InstanceCredentials, NeedATokenFirst) {
  const ScriptedServer metadata([](const SeenRequest& request) {
    if (request.method == "PUT" && request.target == "/latest/api/token") return Reply(200, "t1");
    if (request.headers.count("x-aws-ec2-metadata-token") == 0) return Reply(401);
    const std::string roles = "/latest/meta-data/iam/security-credentials/";
    if (request.target == roles) return Reply(200, "my-role\n");
    return request.target == roles + "my-role" ? Reply(200, kMetadata) : Reply(404);
  });
  EXPECT_EQ(ReadInstanceCredentials(metadata.origin()).value(), kExpected);
  EXPECT_EQ(metadata.seen()[1].headers.at("x-aws-ec2-metadata-token"), "t1");
}

TEST(InstanceCredentials, OfAMachineWithoutARoleAreMissing) {
  const ScriptedServer metadata([](const SeenRequest& request) {
    return request.method == "PUT" ? Reply(200, "t1") : Reply(404);
  });
  const Status read = ReadInstanceCredentials(metadata.origin()).status();
  EXPECT_EQ(read.code(), StatusCode::kUnavailable) << read;
  EXPECT_NE(Message(read).find("answered 404"), std::string::npos) << read;
}

TEST(InstanceCredentials, OfAContainerComeWithItsAuthorization) {
  const ScriptedServer service([](const SeenRequest& request) {
    const auto found = request.headers.find("authorization");
    return found != request.headers.end() && found->second == "pod" ? Reply(200, kMetadata)
                                                                    : Reply(403);
  });
  EXPECT_EQ(ReadContainerCredentials(service.origin() + "/v1", "pod").value(), kExpected);
  EXPECT_EQ(ReadContainerCredentials(service.origin() + "/v1", "").status().code(),
            StatusCode::kUnavailable);
}

TEST(InstanceCredentials, ErrorsDoNotRepeatTheAnswer) {
  const ScriptedServer service([](const SeenRequest&) {
    return Reply(200, R"({"AccessKeyId":"", "SecretAccessKey":"hidden"})");
  });
  const Status read = ReadContainerCredentials(service.origin(), "").status();
  EXPECT_EQ(read.code(), StatusCode::kDataLoss);
  EXPECT_EQ(Message(read).find("hidden"), std::string::npos) << read;
}

}  // namespace
}  // namespace gp::object
