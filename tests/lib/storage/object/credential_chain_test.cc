// Goal: credentials come from the places of AWS's tools in their order, are renewed before they
// expire, and are read again when the server refuses them.
#include "storage/object/credential_chain.h"

#include <gtest/gtest.h>

#include <map>

#include "fakes/fake_clock.h"
#include "lib/base/temporary_directory.h"
#include "lib/storage/object/scripted_server.h"
#include "storage/object/wire_time.h"

namespace gp::object {
namespace {

class CredentialChainTest : public ::testing::Test {
 protected:
  CredentialChain Chain() {
    return CredentialChain(clock_, [this](const char* name) {
      const auto found = variables_.find(name);
      return found == variables_.end() ? "" : found->second;
    });
  }

  std::string KeyOrError() {
    auto chain = Chain();
    const auto credentials = chain.Get();
    return credentials.ok() ? credentials->access_key_id : Message(credentials.status());
  }

  void WriteProfiles(const std::string& key) {
    variables_["AWS_SHARED_CREDENTIALS_FILE"] =
        directory_.Write("credentials", "[default]\naws_access_key_id=" + key +
                                            "\naws_secret_access_key=s\n[mine]\n"
                                            "aws_access_key_id=MINE\naws_secret_access_key=s\n");
  }

  FakeClock clock_;
  TemporaryDirectory directory_;
  std::map<std::string, std::string> variables_ = {{"AWS_EC2_METADATA_DISABLED", "true"},
                                                   {"HOME", directory_.path()}};
};

TEST_F(CredentialChainTest, TheEnvironmentComesFirst) {
  WriteProfiles("FILE");
  EXPECT_EQ(KeyOrError(), "FILE");
  variables_["AWS_PROFILE"] = "mine";
  EXPECT_EQ(KeyOrError(), "MINE");
  variables_["AWS_ACCESS_KEY_ID"] = "ENVIRONMENT";
  EXPECT_EQ(KeyOrError(), "AWS_ACCESS_KEY_ID is set, but AWS_SECRET_ACCESS_KEY is not");
  variables_["AWS_SECRET_ACCESS_KEY"] = "s";
  EXPECT_EQ(KeyOrError(), "ENVIRONMENT");
}

TEST_F(CredentialChainTest, AProfileThatIsNamedMustExist) {
  variables_["AWS_PROFILE"] = "absent";
  EXPECT_NE(KeyOrError().find("AWS_PROFILE is 'absent', but"), std::string::npos) << KeyOrError();
  WriteProfiles("FILE");
  EXPECT_NE(KeyOrError().find("there is no profile 'absent'"), std::string::npos) << KeyOrError();
}

TEST_F(CredentialChainTest, WithoutAnyItSaysWhatToSet) {
  EXPECT_NE(KeyOrError().find("set AWS_ACCESS_KEY_ID"), std::string::npos) << KeyOrError();
}

TEST_F(CredentialChainTest, NoSecretIsFetchedUnencryptedFromElsewhere) {
  for (const char* url :
       {"http://example.com/", "http://127.0.0.1.example.com/", "http://10.0.0.1"}) {
    variables_["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = url;
    EXPECT_NE(KeyOrError().find("expected https"), std::string::npos) << KeyOrError();
  }
}

TEST_F(CredentialChainTest, TemporaryOnesAreRenewedBeforeTheyExpire) {
  int reads = 0;
  const ScriptedServer service([&](const SeenRequest&) {
    return Reply(200, fmt::format(R"({{"AccessKeyId":"K{}","SecretAccessKey":"s","Token":"t",)"
                                  R"("Expiration":"{}"}})",
                                  ++reads, AnswerTime(clock_.WallNow() + std::chrono::hours(1))));
  });
  variables_["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = service.origin() + "/role";
  auto chain = Chain();
  EXPECT_EQ(chain.Get()->access_key_id, "K1");
  EXPECT_EQ(chain.Get()->access_key_id, "K1");
  clock_.Advance(std::chrono::minutes(56));
  EXPECT_EQ(chain.Get()->access_key_id, "K2");
}

TEST_F(CredentialChainTest, RefusedOnesAreReadAgainOnce) {
  WriteProfiles("OLD");
  auto chain = Chain();
  const Credentials old = chain.Get().value();
  WriteProfiles("NEW");
  EXPECT_EQ(chain.Get()->access_key_id, "OLD");
  EXPECT_EQ(chain.Replace(old)->access_key_id, "NEW");
  WriteProfiles("NEWER");
  // Another thread was refused with the old ones too; they have been replaced since.
  EXPECT_EQ(chain.Replace(old)->access_key_id, "NEW");
}

}  // namespace
}  // namespace gp::object
