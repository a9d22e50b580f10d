// GroupKey: the coordinator's key for the secrets of groups of ranks, security/group.key of the
// state directory. The secret of an epoch is derived from it whenever an agent needs it, and is
// never stored. A value; thread-safe.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "base/status.h"
#include "coordinator/state/ids.h"

namespace gp::coordinator {

class GroupKey {
 public:
  using Bytes = std::array<unsigned char, 32>;

  explicit GroupKey(const Bytes& bytes) : bytes_(bytes) {}

  // Reads `path`. If it is absent, creates it and its directory: random bytes that only the owner
  // may read. An error when other users may read it, or when it is not a key.
  static StatusOr<GroupKey> Open(const std::string& path);

  // The secret of the run's group in this epoch, in hexadecimal: HMAC-SHA256 (RFC 2104) with the
  // key. `nonce` is random, drawn for the epoch, and public.
  std::string SecretOf(const RunId& run, Epoch epoch, std::string_view nonce) const;

 private:
  Bytes bytes_;
};

}  // namespace gp::coordinator
