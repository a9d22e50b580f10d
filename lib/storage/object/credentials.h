// Credentials of an object store. There is no way to print them, so that they reach no log and no
// error. Values.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"

namespace gp::object {

struct Credentials {
  std::string access_key_id;
  std::string secret_access_key;
  std::string session_token;        // empty for credentials that do not expire
  std::optional<WallTime> expires;  // if the source says so

  friend bool operator==(const Credentials&, const Credentials&) = default;
};

}  // namespace gp::object
