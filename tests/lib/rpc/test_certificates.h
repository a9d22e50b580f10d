// TestCertificates: an authority, a server certificate and a client certificate, as files in a
// temporary directory. One owner.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/file.h"
#include "lib/base/temporary_directory.h"
#include "rpc/tls.h"
#include "security/authority.h"
#include "security/node_name.h"

namespace gp::rpc {

class TestCertificates {
 public:
  explicit TestCertificates(const std::vector<std::string>& hosts = {"127.0.0.1", "localhost"},
                            const std::string& node = "node1")
      : authority_(security::Authority::Create(SystemClock().WallNow())), node_(node) {
    Write("ca.crt", authority_.certificate().Pem());
    RenewServer(hosts);
    RenewClient();
  }

  // Replaces the server's certificate with a new one that has a new key.
  void RenewServer(const std::vector<std::string>& hosts) {
    const auto key = security::PrivateKey::Generate();
    const auto certificate = authority_.IssueServer(key, hosts, SystemClock().WallNow(), kHour);
    ASSERT_TRUE(certificate.ok()) << certificate.status();
    Write("server.pem", key.Pem() + certificate->Pem() + authority_.certificate().Pem());
    server_serial_ = certificate->Serial();
  }

  void RenewClient() {
    const auto key = security::PrivateKey::Generate();
    const auto certificate =
        authority_.IssueClient(security::CertificateRequest::For(key), security::NodeUri(node_),
                               SystemClock().WallNow(), kHour);
    ASSERT_TRUE(certificate.ok()) << certificate.status();
    Write("client.pem", key.Pem() + certificate->Pem());
  }

  ServerTls Server() const { return {Path("server.pem"), Path("server.pem"), Path("ca.crt")}; }
  ChannelTls Anonymous() const { return {.ca = Path("ca.crt")}; }
  ChannelTls Client() const { return {Path("ca.crt"), Path("client.pem"), Path("client.pem")}; }

  const security::Authority& authority() const { return authority_; }
  const std::string& server_serial() const { return server_serial_; }
  std::string Path(const std::string& name) const { return directory_.File(name); }

 private:
  static constexpr std::chrono::hours kHour{1};

  void Write(const std::string& name, const std::string& text) const {
    const Status written = WriteFileAtomically(Path(name), text, 0600);
    EXPECT_TRUE(written.ok()) << written;
  }

  TemporaryDirectory directory_;
  security::Authority authority_;
  std::string node_;
  std::string server_serial_;
};

}  // namespace gp::rpc
