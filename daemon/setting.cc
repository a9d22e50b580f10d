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

Setting MetricsListen(std::string& address) {
  return {.field = {.path = "metrics.listen",
                    .doc = "HOST:PORT of the Prometheus endpoint. Port 0: any free one."},
          .slot = &address,
          .flag = "--metrics-listen",
          .value_name = "HOST:PORT",
          .check = CheckListenAddress};
}

Setting MetricsPublic(bool& allowed) {
  return {.field = {.path = "metrics.public",
                    .doc = "Let metrics.listen be reached from other machines, such as that of "
                           "Prometheus: whoever reaches it reads names of runs, losses, speeds."},
          .slot = &allowed};
}

Status CheckMetricsExposure(const std::string& address, bool allowed) {
  ASSIGN_OR_RETURN(const auto parsed, rpc::ParseListenAddress(address));
  if (allowed || parsed.IsLocal()) return OkStatus();
  return InvalidArgument(
      "metrics.listen: {} can be reached from other machines, and it is served without encryption "
      "to whoever comes; listen on 127.0.0.1, or accept that with metrics.public: true (or "
      "--insecure)",
      parsed.Text());
}

std::string VariablePrefix(const std::string& program) { return UpperWords(program) + "_"; }

std::string VariableOf(const std::string& program, const std::string& key) {
  return VariablePrefix(program) + UpperWords(key);
}

}  // namespace gp::daemon
