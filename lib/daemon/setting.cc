#include "daemon/setting.h"

#include <cctype>

#include "rpc/listen_address.h"

namespace gp::daemon {
namespace {

std::string UpperWords(const std::string& text) {
  std::string upper;
  for (const char c : text) {
    const bool joins = c == '-' || c == '.';
    upper += joins ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return upper;
}

}  // namespace

Status CheckListenAddress(std::string_view text) {
  ASSIGN_OR_RETURN(const auto address, rpc::ParseListenAddress(text));
  if (!address.is_socket()) return OkStatus();
  return InvalidArgument("{} is a socket; expected HOST:PORT", text);
}

Settings TlsPair(std::string& certificate, std::string& key, const std::string& otherwise) {
  return {{.field = {.path = "tls.certificate",
                     .doc = "PEM file of the server certificate, followed by the certificates that "
                            "signed it. It is read again when it changes. Empty: " +
                            otherwise,
                     .is_path = true},
           .slot = &certificate,
           .flag = "--tls-certificate",
           .value_name = "FILE"},
          {.field = {.path = "tls.key",
                     .doc = "PEM file of the private key of tls.certificate.",
                     .is_path = true},
           .slot = &key,
           .flag = "--tls-key",
           .value_name = "FILE"}};
}

Status CheckTlsPair(const std::string& certificate, const std::string& key) {
  if (certificate.empty() == key.empty()) return OkStatus();
  return InvalidArgument("set both tls.certificate and tls.key, or neither of them");
}

std::string VariablePrefix(const std::string& program) { return UpperWords(program) + "_"; }

std::string VariableOf(const std::string& program, const std::string& key) {
  return VariablePrefix(program) + UpperWords(key);
}

}  // namespace gp::daemon
