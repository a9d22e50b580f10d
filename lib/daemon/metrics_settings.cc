#include "daemon/metrics_settings.h"

#include "rpc/listen_address.h"

namespace gp::daemon {

Setting MetricsListen(std::string& address) {
  return {.field = {.path = "metrics.listen",
                    .doc = "HOST:PORT of the Prometheus endpoint. Port 0: any free one."},
          .slot = &address,
          .flag = "--metrics-listen",
          .value_name = "HOST:PORT",
          .check = CheckListenAddress};
}

Setting MetricsPublic(bool& allowed) {
  return {
      .field =
          {.path = "metrics.public",
           .doc = "Let other machines, such as that of Prometheus, reach metrics.listen over TLS: "
                  "anyone who can read it sees names of runs, users and data files, losses and "
                  "speeds."},
      .slot = &allowed};
}

Setting MetricsKeysFile(std::string& path) {
  return {.field = {.path = "metrics.keys_file",
                    .doc = "File of keys; Prometheus must send one of them as bearer token "
                           "(authorization.credentials). Each line has the SHA-256 of a key in "
                           "hexadecimal digits, then a name. It is read again when it changes. "
                           "Empty: anyone who reaches metrics.listen may read it.",
                    .is_path = true},
          .slot = &path};
}

Status CheckMetricsAccess(const MetricsAccess& access) {
  if (rpc::IsLocalAddress(access.listen) || access.insecure) return OkStatus();
  if (!access.is_public) {
    return InvalidArgument(
        "metrics.listen: {} can be reached from other machines; listen on 127.0.0.1, or set "
        "metrics.public: true to serve the metrics to them over TLS",
        access.listen);
  }
  if (access.has_certificate) return OkStatus();
  return InvalidArgument(
      "metrics.listen: other machines get the metrics of {} only over TLS, but there is no "
      "certificate for it; name one with tls.certificate and tls.key, or listen on 127.0.0.1",
      access.listen);
}

bool MetricsUseTls(const MetricsAccess& access) {
  return access.has_certificate && !rpc::IsLocalAddress(access.listen);
}

}  // namespace gp::daemon
