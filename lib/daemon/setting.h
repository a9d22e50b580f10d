// Setting: one setting of a daemon. It is set by its key in the settings file, by an environment
// variable, and for some settings by a flag. A daemon's settings are one table, in the order of its
// file; all readers and texts use that table. Values and pure functions; thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "runspec/field.h"

namespace gp::daemon {

struct Setting {
  runspec::Field field;  // "server.listen", what it means, its range
  runspec::Slot slot;    // destination of the value; its initial content is the default
  // "--listen"; empty: file and environment only. A bool's flag sets it to true.
  std::string flag;
  std::string value_name;  // what --help calls the flag's value: "HOST:PORT"
  bool required = false;   // has no default; only for text
  Status (*check)(std::string_view text) = nullptr;  // for text: checks the value
};

using Settings = std::vector<Setting>;

// A check: HOST:PORT on which a server can listen.
Status CheckListenAddress(std::string_view text);

// The rows tls.certificate and tls.key. `otherwise` describes the certificate used when they are
// empty.
Settings TlsPair(std::string& certificate, std::string& key, const std::string& otherwise);

// InvalidArgument when only one of them is set.
Status CheckTlsPair(const std::string& certificate, const std::string& key);

// "GP_COORDINATOR_" for "gp-coordinator".
std::string VariablePrefix(const std::string& program);

// The environment variable of a key: GP_COORDINATOR_SERVER_LISTEN for gp-coordinator's
// server.listen.
std::string VariableOf(const std::string& program, const std::string& key);

}  // namespace gp::daemon
