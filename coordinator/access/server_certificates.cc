#include "coordinator/access/server_certificates.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/file.h"
#include "base/log.h"
#include "base/secret_file.h"
#include "security/node_name.h"

namespace gp::coordinator {
namespace {

using security::Authority;
using security::Certificate;
using security::PrivateKey;

constexpr size_t kPemBytesMax = 1 << 20;

StatusOr<Authority> MakeAuthority(const std::string& certificate, const std::string& key,
                                  WallTime now) {
  Authority made = Authority::Create(now);
  // Key first: the authority counts as present once its certificate exists.
  RETURN_IF_ERROR(WriteSecretFile(key, made.KeyPem()));
  RETURN_IF_ERROR(WriteSecretFile(certificate, made.certificate().Pem()));
  LogInfo("created the certificate authority",
          {{"file", certificate}, {"sha256", made.certificate().Digest()}});
  return made;
}

// Only warns, because clients on the Unix socket need no certificate and can still be served.
void WarnOfClock(const Certificate& authority, const std::string& path, WallTime now) {
  const Status good = authority.CheckLifetime(now);
  if (good.ok()) return;
  LogWarning("agents and users elsewhere refuse the authority's certificate",
             {{"file", path},
              {"reason", gp::Message(good)},
              {"fix",
               "set this machine's clock; if it is right, stop the coordinator, remove ca.crt and "
               "ca.key there, start it, and let every agent and user join again"}});
}

StatusOr<Authority> LoadAuthority(const std::string& directory, WallTime now) {
  const std::string certificate = JoinPath(directory, "ca.crt");
  const std::string key = JoinPath(directory, "ca.key");
  const auto certificate_pem = ReadFile(certificate, kPemBytesMax);
  if (certificate_pem.status().code() == StatusCode::kNotFound) {
    return MakeAuthority(certificate, key, now);
  }
  RETURN_IF_ERROR(certificate_pem.status());
  const auto key_pem = ReadSecretFile(key, kPemBytesMax);
  auto read = key_pem.ok() ? Authority::Read(*certificate_pem, *key_pem) : key_pem.status();
  if (read.ok()) {
    WarnOfClock(read->certificate(), certificate, now);
    return read;
  }
  return WithContext(
      read.status(),
      fmt::format("the authority in {} cannot be used; restore {} and {} from a backup, or remove "
                  "both to create a new authority; every agent and user must then join again",
                  directory, certificate, key));
}

bool Covers(const Certificate& certificate, const std::vector<std::string>& hosts) {
  std::set<std::string> named;
  for (const auto& names : {certificate.DnsNames(), certificate.IpAddresses()}) {
    named.insert(names.begin(), names.end());
  }
  return std::all_of(hosts.begin(), hosts.end(),
                     [&](const std::string& host) { return named.contains(host); });
}

}  // namespace

StatusOr<std::unique_ptr<ServerCertificates>> ServerCertificates::Open(CertificateOptions options,
                                                                       Clock& clock) {
  RETURN_IF_ERROR(MakeSecretDirectory(options.directory));
  ASSIGN_OR_RETURN(Authority authority, LoadAuthority(options.directory, clock.WallNow()));
  std::unique_ptr<ServerCertificates> made(
      new ServerCertificates(std::move(options), std::move(authority), clock));
  RETURN_IF_ERROR(made->Refresh());
  RETURN_IF_ERROR(rpc::CheckTls(made->tls()));
  return made;
}

std::string ServerCertificates::Path(const std::string& name) const {
  return JoinPath(options_.directory, name);
}

rpc::ServerTls ServerCertificates::tls() const {
  const std::string own = Path("server.pem");
  return {.certificate = IsOwn() ? own : options_.certificate,
          .key = IsOwn() ? own : options_.key,
          .client_ca = Path(options_.client_ca.empty() ? "ca.crt" : "clients.crt")};
}

Certificate ServerCertificates::anchor() const {
  if (IsOwn()) return authority();
  const auto pem = ReadFile(options_.certificate, kPemBytesMax);
  const auto chain = pem.ok() ? Certificate::ChainFromPem(*pem) : pem.status();
  return chain.ok() ? chain->back() : authority();
}

StatusOr<Certificate> ServerCertificates::IssueNode(const security::CertificateRequest& request,
                                                    const std::string& node_id,
                                                    WallTime from) const {
  MutexLock lock(mutex_);
  return authority_.IssueClient(request, security::NodeUri(node_id), from, options_.lifetime);
}

Status ServerCertificates::Refresh() {
  MutexLock lock(mutex_);
  RETURN_IF_ERROR(IsOwn() ? RefreshServer() : CheckForeign());
  return options_.client_ca.empty() ? OkStatus() : RefreshClients();
}

bool ServerCertificates::ServerIsGood() const {
  const auto pem = ReadSecretFile(Path("server.pem"), kPemBytesMax);
  if (!pem.ok()) return false;
  const auto certificate = Certificate::FromPem(*pem);
  const auto key = PrivateKey::FromPem(*pem);
  const WallTime now = clock_.WallNow();
  return certificate.ok() && key.ok() && certificate->CheckKey(*key).ok() &&
         certificate->IsSignedBy(authority()) && Covers(*certificate, options_.hosts) &&
         certificate->CheckLifetime(now).ok() && now < certificate->lifetime().RenewalTime();
}

// Key and certificate share one file, so a reader never finds one without the other.
Status ServerCertificates::RefreshServer() {
  if (ServerIsGood()) return OkStatus();
  const PrivateKey key = PrivateKey::Generate();
  ASSIGN_OR_RETURN(
      const Certificate certificate,
      authority_.IssueServer(key, options_.hosts, clock_.WallNow(), options_.lifetime));
  const std::string path = Path("server.pem");
  RETURN_IF_ERROR(WriteSecretFile(path, key.Pem() + certificate.Pem() + authority().Pem()));
  LogInfo("created a server certificate",
          {{"file", path}, {"ends", security::TimeText(certificate.lifetime().end)}});
  return OkStatus();
}

Status ServerCertificates::CheckForeign() const {
  ASSIGN_OR_RETURN(const std::string pem, ReadFile(options_.certificate, kPemBytesMax));
  const auto certificate = Certificate::FromPem(pem);
  if (!certificate.ok()) return WithContext(certificate.status(), options_.certificate);
  RETURN_IF_ERROR(WithContext(certificate->CheckLifetime(clock_.WallNow()), options_.certificate));
  return rpc::CheckTls(rpc::ServerTls{.certificate = options_.certificate, .key = options_.key});
}

Status ServerCertificates::RefreshClients() {
  ASSIGN_OR_RETURN(const std::string theirs, ReadFile(options_.client_ca, kPemBytesMax));
  RETURN_IF_ERROR(WithContext(Certificate::ChainFromPem(theirs).status(), options_.client_ca));
  const std::string wanted = authority().Pem() + theirs;
  const std::string path = Path("clients.crt");
  if (ReadFile(path, 2 * kPemBytesMax).value_or("") == wanted) return OkStatus();
  return WriteSecretFile(path, wanted);
}

void ServerCertificates::Start() {
  thread_ = std::jthread([this] { Loop(); });
}

void ServerCertificates::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void ServerCertificates::Loop() {
  std::string last_problem;
  while (true) {
    {
      const auto next = std::chrono::steady_clock::now() + options_.period;
      MutexLock lock(mutex_);
      while (!stopping_ && changed_.WaitUntil(mutex_, next)) {
      }
      if (stopping_) return;
    }
    const std::string problem = gp::Message(Refresh());
    if (!problem.empty() && problem != last_problem) {
      LogError("the certificates cannot be used or renewed", {{"reason", problem}});
    }
    last_problem = problem;
  }
}

}  // namespace gp::coordinator
