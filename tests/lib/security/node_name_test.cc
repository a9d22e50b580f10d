#include "security/node_name.h"

#include <gtest/gtest.h>

#include "lib/security/noon.h"
#include "security/authority.h"

namespace gp::security {
namespace {

std::string NodeOfUri(const std::string& uri) {
  const auto request = CertificateRequest::For(PrivateKey::Generate());
  const auto certificate =
      Authority::Create(kNoon).IssueClient(request, uri, kNoon, std::chrono::hours(1));
  EXPECT_TRUE(certificate.ok()) << certificate.status();
  return NodeOf(*certificate);
}

TEST(NodeName, IsReadFromTheCertificate) { EXPECT_EQ(NodeOfUri(NodeUri("n0de-1")), "n0de-1"); }

TEST(NodeName, OtherNamesAreNoNode) {
  for (const std::string uri : {"gp:user:n1", "gp:node:", "xgp:node:n1", "gp:node:a.b"}) {
    EXPECT_EQ(NodeOfUri(uri), "") << uri;
  }
}

TEST(NodeName, AServersCertificateIsNoNodes) {
  const auto certificate = Authority::Create(kNoon).IssueServer(
      PrivateKey::Generate(), {"localhost"}, kNoon, std::chrono::hours(1));
  EXPECT_EQ(NodeOf(*certificate), "");
}

TEST(NodeName, AnIdIsShortAndPlain) {
  EXPECT_TRUE(IsNodeId("a1b2c3d4e5"));
  EXPECT_FALSE(IsNodeId(""));
  EXPECT_FALSE(IsNodeId("a,URI:b"));
  EXPECT_FALSE(IsNodeId(std::string(65, 'a')));
}

}  // namespace
}  // namespace gp::security
