// CredentialChain: the credentials of this process, from the places that AWS's tools use, in their
// order:
//
//   1. AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN
//   2. the file AWS_SHARED_CREDENTIALS_FILE (~/.aws/credentials), profile AWS_PROFILE (default)
//   3. the container's service: AWS_CONTAINER_CREDENTIALS_RELATIVE_URI, …_FULL_URI
//   4. EC2's instance metadata, unless AWS_EC2_METADATA_DISABLED is true
//
// Thread-safe; a caller waits while another one reads.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"
#include "storage/object/credential_source.h"

namespace gp::object {

class CredentialChain : public CredentialSource {
 public:
  // Returns the value of an environment variable; empty if it is not set.
  using Variable = std::function<std::string(const char* name)>;

  explicit CredentialChain(const Clock& clock, Variable variable = Environment);

  StatusOr<Credentials> Get() override;
  StatusOr<Credentials> Replace(const Credentials& refused) override;

 private:
  static std::string Environment(const char* name);

  StatusOr<Credentials> Read() const;
  StatusOr<Credentials> ReadVariables() const;
  StatusOr<Credentials> ReadProfile() const;
  StatusOr<Credentials> ReadContainer() const;
  StatusOr<Credentials> ReadInstance() const;
  StatusOr<std::string> ContainerUrl() const;
  bool IsFresh() const REQUIRES(mutex_);

  const Clock& clock_;
  const Variable variable_;
  Mutex mutex_;
  std::optional<Credentials> current_ GUARDED_BY(mutex_);
};

}  // namespace gp::object
