// ServerCertificates: the coordinator's certificate and the authorities that it trusts for TLS, as
// files in <state.dir>/security (docs/security/tls.md):
//
//   ca.crt, ca.key  an authority of its own, made once
//   server.pem      a key, its certificate from this authority, and ca.crt; only if the settings
//                   name no certificate
//   clients.crt     ca.crt and the authorities of tls.client_ca, when there are any
//
// A thread renews server.pem before it ends, checks the certificate that the settings name, and
// copies changes of tls.client_ca to clients.crt. Servers read the files again by themselves
// (rpc/tls.h). Made and owned by the daemon; other methods from any thread.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "rpc/tls.h"
#include "security/authority.h"

namespace gp::coordinator {

struct CertificateOptions {
  std::string directory;           // made when it is missing
  std::vector<std::string> hosts;  // hosts that a certificate made here must name
  std::string certificate;         // this and the next: files made by others; empty: made here
  std::string key;
  std::string client_ca;  // file of more authorities that may sign clients' certificates, or empty
  std::chrono::nanoseconds lifetime = std::chrono::hours(24 * 90);  // of certificates made here
  // How often the thread checks.
  std::chrono::nanoseconds period = std::chrono::seconds(5);
};

class ServerCertificates {
 public:
  // Reads or makes the files. FailedPrecondition when they do not fit together, InvalidArgument or
  // NotFound when one cannot be read; the message names the file and the fix.
  static StatusOr<std::unique_ptr<ServerCertificates>> Open(CertificateOptions options,
                                                            Clock& clock);
  ~ServerCertificates() { Stop(); }

  rpc::ServerTls tls() const;
  // Clients recognise this server by the digest of this certificate: the last one of the chain that
  // it presents, or its own authority if tls.certificate cannot be read.
  security::Certificate anchor() const;
  // Signs a certificate for a node, valid from `from` on.
  StatusOr<security::Certificate> IssueNode(const security::CertificateRequest& request,
                                            const std::string& node_id, WallTime from) const
      EXCLUDES(mutex_);
  // The authority of nodes' certificates.
  const security::Certificate& authority() const { return authority_.certificate(); }

  // Renews server.pem if it is due, and clients.crt if tls.client_ca has changed. Called by Open
  // and by the thread, which logs a new error once. On errors the files stay unchanged.
  Status Refresh() EXCLUDES(mutex_);

  // Begins to refresh every `period`.
  void Start();
  void Stop();

 private:
  ServerCertificates(CertificateOptions options, security::Authority authority, Clock& clock)
      : options_(std::move(options)), authority_(std::move(authority)), clock_(clock) {}

  std::string Path(const std::string& name) const;
  bool IsOwn() const { return options_.certificate.empty(); }
  Status RefreshServer() REQUIRES(mutex_);
  // Whether server.pem can be served: it names every host and is not due for renewal.
  bool ServerIsGood() const REQUIRES(mutex_);
  Status CheckForeign() const;
  Status RefreshClients() REQUIRES(mutex_);
  void Loop() EXCLUDES(mutex_);

  const CertificateOptions options_;
  const security::Authority authority_;
  Clock& clock_;

  mutable Mutex mutex_;
  CondVar changed_;
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::jthread thread_;
};

}  // namespace gp::coordinator
