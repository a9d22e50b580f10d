#include "worker/agent/node_credentials.h"

#include <grpcpp/client_context.h>

#include <algorithm>
#include <utility>

#include "base/file.h"
#include "base/log.h"
#include "base/secret_file.h"
#include "gp/v1/enrollment_service.grpc.pb.h"
#include "rpc/channel.h"
#include "rpc/listen_address.h"
#include "rpc/server_certificates.h"
#include "rpc/status.h"
#include "rpc/token.h"
#include "security/certificate.h"
#include "security/certificate_request.h"
#include "security/fetched_chain.h"
#include "security/node_name.h"

namespace gp::agent {
namespace {

using security::Certificate;
using security::PrivateKey;
using std::chrono::nanoseconds;

constexpr size_t kPemBytesMax = 1 << 20;
constexpr nanoseconds kRetryFirst = std::chrono::milliseconds(200);
constexpr nanoseconds kLookEvery = std::chrono::hours(1);

void SetTimeout(grpc::ClientContext& context, nanoseconds timeout) {
  // Converts the deadline to the time_point type that gRPC takes.
  const std::chrono::system_clock::time_point deadline = SystemClock().WallNow() + timeout;
  context.set_deadline(deadline);
}

// The key of the join in progress, kept so that a lost answer can be requested again with the same
// key.
StatusOr<PrivateKey> JoinKey(const std::string& path) {
  const auto kept = ReadSecretFile(path, kPemBytesMax);
  if (kept.ok()) {
    if (auto key = PrivateKey::FromPem(*kept); key.ok()) return key;
  }
  PrivateKey key = PrivateKey::Generate();
  RETURN_IF_ERROR(WriteSecretFile(path, key.Pem()));
  return key;
}

// Key and certificate share one file, so a reader never finds one without the other.
Status WritePair(const std::string& path, const PrivateKey& key, const std::string& certificate) {
  const auto read = Certificate::FromPem(certificate);
  if (!read.ok()) return WithContext(read.status(), "the coordinator's answer");
  RETURN_IF_ERROR(read->CheckKey(key));
  return WriteSecretFile(path, key.Pem() + certificate);
}

bool IsTransient(const Status& status) {
  return status.code() == StatusCode::kUnavailable ||
         status.code() == StatusCode::kDeadlineExceeded ||
         status.code() == StatusCode::kResourceExhausted;
}

}  // namespace

StatusOr<std::unique_ptr<NodeCredentials>> NodeCredentials::Open(
    NodeCredentialsOptions options, Clock& clock, const std::function<bool()>& stopped) {
  RETURN_IF_ERROR(MakeSecretDirectory(JoinPath(options.state_dir, "security")));
  std::unique_ptr<NodeCredentials> made(new NodeCredentials(std::move(options), clock));
  nanoseconds pause = kRetryFirst;
  const bool has_certificate = made->CheckFiles().ok() && !made->IsRefused();
  bool joined = false;
  while (!has_certificate) {
    const Status tried = made->TryToJoin(joined);
    if (tried.ok()) break;
    if (!IsTransient(tried)) return tried;
    const Status explained =
        rpc::ExplainCertificates(made->options_.coordinator, {.ca = made->CaPath()},
                                 clock.WallNow(), made->options_.timeout);
    LogWarning("cannot join yet; trying again",
               {{"reason", Message(explained.ok() ? tried : explained)}});
    const auto next = std::chrono::steady_clock::now() + pause;
    while (std::chrono::steady_clock::now() < next) {
      if (stopped()) return Cancelled("stopped before this node had joined");
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    pause = std::min(2 * pause, made->options_.retry_max);
  }
  made->renewer_ = std::jthread([credentials = made.get()] { credentials->RenewLoop(); });
  return made;
}

NodeCredentials::~NodeCredentials() {
  MutexLock lock(mutex_);
  stopping_ = true;
  changed_.NotifyAll();
}

std::string NodeCredentials::Path(const std::string& name) const {
  return JoinPath(JoinPath(options_.state_dir, "security"), name);
}

rpc::ChannelTls NodeCredentials::tls() const {
  return {.ca = CaPath(), .certificate = Path("node.pem"), .key = Path("node.pem")};
}

Status NodeCredentials::CheckFiles() const {
  ASSIGN_OR_RETURN(const std::string pem, ReadSecretFile(Path("node.pem"), kPemBytesMax));
  ASSIGN_OR_RETURN(const Certificate certificate, Certificate::FromPem(pem));
  RETURN_IF_ERROR(certificate.CheckLifetime(clock_.WallNow()));
  if (security::NodeOf(certificate) != options_.node_id) {
    return FailedPrecondition("{} is another node's", Path("node.pem"));
  }
  return rpc::CheckTls(tls());
}

// Tries to renew the certificate: the coordinator refuses that if it was revoked; otherwise a newer
// one replaces it, which is harmless. Without a join token a refusal cannot be resolved here: the
// agent's stream will be refused with the reason.
bool NodeCredentials::IsRefused() const {
  if (options_.join_token_file.empty()) return false;
  Status renewed = Renew();
  // In gRPC 1.51 a first connection may fail with the error of another call (grpc/grpc#35064).
  if (renewed.code() == StatusCode::kUnavailable) renewed = Renew();
  if (renewed.code() != StatusCode::kPermissionDenied) return false;
  LogWarning("the coordinator refuses the certificate of this node; joining with the token",
             {{"reason", Message(renewed)}});
  return true;
}

Status NodeCredentials::FetchCa(const std::string& digest) const {
  if (!options_.ca.empty()) return OkStatus();
  if (digest.empty()) {
    return InvalidArgument(
        "the join token does not name the coordinator's authority; set coordinator.ca to its file");
  }
  ASSIGN_OR_RETURN(const auto address, rpc::ParseListenAddress(options_.coordinator));
  ASSIGN_OR_RETURN(
      const Certificate authority,
      security::FetchAuthority({address.host, address.port}, digest, options_.timeout));
  return WriteSecretFile(CaPath(), authority.Pem());
}

Status NodeCredentials::Join() const {
  if (options_.join_token_file.empty()) {
    return FailedPrecondition(
        "this node has no valid certificate for the coordinator {}; make a token there "
        "with 'gpctl token create --join', write it to a file and name it with --join-token-file",
        options_.coordinator);
  }
  ASSIGN_OR_RETURN(const rpc::Token token, rpc::ReadTokenFile(options_.join_token_file));
  RETURN_IF_ERROR(FetchCa(token.ca_digest));
  ASSIGN_OR_RETURN(const PrivateKey key, JoinKey(Path("node.key")));
  v1::JoinRequest request;
  request.set_token(rpc::TokenText(token));
  request.set_node_id(options_.node_id);
  request.set_request(security::CertificateRequest::For(key).Pem());
  const auto stub = v1::EnrollmentService::NewStub(
      rpc::MakeChannel(options_.coordinator, {.tls = rpc::ChannelTls{.ca = CaPath()}}));
  grpc::ClientContext context;
  SetTimeout(context, options_.timeout);
  v1::NodeCertificate answer;
  const Status joined = rpc::FromGrpc(stub->Join(&context, request, &answer));
  RETURN_IF_ERROR(WithContext(joined, "joining " + options_.coordinator));
  RETURN_IF_ERROR(WritePair(Path("node.pem"), key, answer.certificate()));
  LogInfo("joined the coordinator", {{"coordinator", options_.coordinator}});
  return RemoveTree(Path("node.key"));
}

Status NodeCredentials::TryToJoin(bool& joined) const {
  if (!joined) RETURN_IF_ERROR(Join());
  joined = true;
  const Status checked = CheckFiles();
  if (checked.ok()) return checked;
  return Unavailable("the certificate that this node got cannot be used: {}", Message(checked));
}

Status NodeCredentials::Renew() const {
  const PrivateKey key = PrivateKey::Generate();
  v1::RenewRequest request;
  request.set_request(security::CertificateRequest::For(key).Pem());
  const auto stub =
      v1::EnrollmentService::NewStub(rpc::MakeChannel(options_.coordinator, {.tls = tls()}));
  grpc::ClientContext context;
  SetTimeout(context, options_.timeout);
  v1::NodeCertificate answer;
  RETURN_IF_ERROR(rpc::FromGrpc(stub->Renew(&context, request, &answer)));
  return WritePair(Path("node.pem"), key, answer.certificate());
}

nanoseconds NodeCredentials::UntilRenewal() const {
  const auto pem = ReadFile(Path("node.pem"), kPemBytesMax);
  const auto certificate = pem.ok() ? Certificate::FromPem(*pem) : pem.status();
  if (!certificate.ok()) return nanoseconds(0);
  return certificate->lifetime().RenewalTime() - clock_.WallNow();
}

void NodeCredentials::RenewLoop() {
  nanoseconds retry = kRetryFirst;
  nanoseconds wait = UntilRenewal();
  while (true) {
    {
      // Wakes at least every kLookEvery, because the machine may sleep meanwhile or its clock may
      // be set.
      const auto next =
          std::chrono::steady_clock::now() + std::clamp(wait, nanoseconds(0), kLookEvery);
      MutexLock lock(mutex_);
      while (!stopping_ && changed_.WaitUntil(mutex_, next)) {
      }
      if (stopping_) return;
    }
    wait = UntilRenewal();
    if (wait > nanoseconds(0)) continue;
    const Status renewed = Renew();
    if (renewed.ok()) {
      LogInfo("renewed the certificate of this node");
      retry = kRetryFirst;
      wait = UntilRenewal();
      continue;
    }
    LogWarning("the certificate of this node cannot be renewed; trying again",
               {{"reason", Message(renewed)}});
    wait = retry;
    retry = std::min<nanoseconds>(2 * retry, std::chrono::minutes(10));
  }
}

}  // namespace gp::agent
