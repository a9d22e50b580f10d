#include "storage/object/credential_chain.h"

#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/text/excerpt.h"
#include "storage/object/credentials_file.h"
#include "storage/object/instance_credentials.h"

namespace gp::object {
namespace {

constexpr auto kRenewBefore = std::chrono::minutes(5);
constexpr uint64_t kFileBytesMax = 1 << 20;
constexpr const char* kContainerHost = "http://169.254.170.2";
constexpr const char* kInstanceEndpoint = "http://169.254.169.254";

std::string OrElse(std::string value, const std::string& other) {
  return value.empty() ? other : std::move(value);
}

// A secret must not be fetched, nor a token sent, unencrypted through a network.
bool IsLocalOrEncrypted(std::string_view url) {
  if (url.starts_with("https://")) return true;
  for (const std::string_view host :
       {"http://127.0.0.1", "http://localhost", "http://[::1]", "http://169.254.170.2",
        "http://169.254.170.23", "http://[fd00:ec2::23]"}) {
    const bool is_host = url.starts_with(host) && url.size() > host.size();
    if (is_host && (url[host.size()] == ':' || url[host.size()] == '/')) return true;
  }
  return false;
}

}  // namespace

CredentialChain::CredentialChain(const Clock& clock, Variable variable)
    : clock_(clock), variable_(std::move(variable)) {}

std::string CredentialChain::Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool CredentialChain::IsFresh() const {
  return current_ && (!current_->expires || clock_.WallNow() + kRenewBefore < *current_->expires);
}

StatusOr<Credentials> CredentialChain::Get() {
  const MutexLock lock(mutex_);
  if (IsFresh()) return *current_;
  auto read = Read();
  if (read.ok()) current_ = *read;
  const bool is_valid = current_ && (!current_->expires || clock_.WallNow() < *current_->expires);
  return is_valid ? *current_ : std::move(read);
}

StatusOr<Credentials> CredentialChain::Replace(const Credentials& refused) {
  const MutexLock lock(mutex_);
  if (current_ && *current_ != refused) return *current_;
  ASSIGN_OR_RETURN(current_, Read());
  return *current_;
}

// The first place that has credentials. A place that is there but cannot be read is an error: the
// next one may belong to somebody else.
StatusOr<Credentials> CredentialChain::Read() const {
  for (const auto read : {&CredentialChain::ReadVariables, &CredentialChain::ReadProfile,
                          &CredentialChain::ReadContainer}) {
    auto credentials = (this->*read)();
    if (credentials.status().code() != StatusCode::kNotFound) return credentials;
  }
  return ReadInstance();
}

StatusOr<Credentials> CredentialChain::ReadVariables() const {
  Credentials credentials{.access_key_id = variable_("AWS_ACCESS_KEY_ID"),
                          .secret_access_key = variable_("AWS_SECRET_ACCESS_KEY"),
                          .session_token = variable_("AWS_SESSION_TOKEN")};
  if (credentials.access_key_id.empty()) return NotFound("AWS_ACCESS_KEY_ID is not set");
  if (credentials.secret_access_key.empty()) {
    return FailedPrecondition("AWS_ACCESS_KEY_ID is set, but AWS_SECRET_ACCESS_KEY is not");
  }
  return credentials;
}

StatusOr<Credentials> CredentialChain::ReadProfile() const {
  const std::string path =
      OrElse(variable_("AWS_SHARED_CREDENTIALS_FILE"), variable_("HOME") + "/.aws/credentials");
  const auto text = ReadFile(path, kFileBytesMax);
  auto credentials = text.ok()
                         ? ParseCredentialsFile(*text, OrElse(variable_("AWS_PROFILE"), "default"))
                         : text.status();
  if (credentials.ok()) return credentials;
  const Status status = text.ok() ? WithContext(credentials.status(), path) : text.status();
  // Who names a profile does not want the credentials of another place.
  const bool is_named = !variable_("AWS_PROFILE").empty();
  if (is_named && status.code() == StatusCode::kNotFound) {
    return FailedPrecondition("AWS_PROFILE is '{}', but {}", Excerpt(variable_("AWS_PROFILE")),
                              Message(status));
  }
  return status;
}

StatusOr<std::string> CredentialChain::ContainerUrl() const {
  const std::string relative = variable_("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  if (!relative.empty()) return kContainerHost + relative;
  std::string url = variable_("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (url.empty()) return NotFound("AWS_CONTAINER_CREDENTIALS_FULL_URI is not set");
  if (IsLocalOrEncrypted(url)) return url;
  return FailedPrecondition(
      "AWS_CONTAINER_CREDENTIALS_FULL_URI is {}, expected https or an address of this machine",
      Excerpt(url));
}

StatusOr<Credentials> CredentialChain::ReadContainer() const {
  ASSIGN_OR_RETURN(const std::string url, ContainerUrl());
  std::string authorization = variable_("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  const std::string file = variable_("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  if (!file.empty()) {
    const auto token = ReadFile(file, kFileBytesMax);
    if (!token.ok()) return FailedPrecondition("{}", Message(token.status()));
    authorization = token->substr(0, token->find_last_not_of("\r\n") + 1);
  }
  return ReadContainerCredentials(url, authorization);
}

StatusOr<Credentials> CredentialChain::ReadInstance() const {
  const std::string advice =
      "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write the profile to "
      "~/.aws/credentials";
  if (variable_("AWS_EC2_METADATA_DISABLED") == "true") {
    return FailedPrecondition("no credentials for the object store; {}", advice);
  }
  auto credentials = ReadInstanceCredentials(
      OrElse(variable_("AWS_EC2_METADATA_SERVICE_ENDPOINT"), kInstanceEndpoint));
  if (credentials.ok()) return credentials;
  return FailedPrecondition("no credentials for the object store; {} (instance metadata: {})",
                            advice, Message(credentials.status()));
}

}  // namespace gp::object
