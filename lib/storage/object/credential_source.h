// CredentialSource: where a client gets its credentials. Thread-safe.
#pragma once

#include "base/status.h"
#include "storage/object/credentials.h"

namespace gp::object {

class CredentialSource {
 public:
  virtual ~CredentialSource() = default;
  // The current ones; read again shortly before they expire.
  virtual StatusOr<Credentials> Get() = 0;
  // Reads them again, unless another thread has done so since Get returned `refused`, which the
  // server did not accept. The result equals `refused` if there are no newer ones.
  virtual StatusOr<Credentials> Replace(const Credentials& refused) = 0;
};

}  // namespace gp::object
