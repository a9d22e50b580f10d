#include "client/gateway/settings.h"

#include <utility>

#include "client/gateway/models/directory_scan.h"
#include "rpc/listen_address.h"

namespace gp::gateway {
namespace {

// The settings of the server: its address, its limits, API keys and allowed sites.
daemon::Settings Access(GatewaySettings& settings) {
  return {
      {.field = {.path = "server.listen",
                 .doc = "HOST:PORT for clients and browsers. Port 0: any free one."},
       .slot = &settings.listen,
       .flag = "--listen",
       .value_name = "ADDRESS",
       .check = daemon::CheckListenAddress},
      {.field = {.path = "server.connections_max",
                 .doc = "How many clients may be connected at once. Above this number, a new "
                        "client replaces one that is idle or slow; if all clients are being "
                        "answered, the new one is refused with 503.",
                 .min = 1,
                 .max = 100000},
       .slot = &settings.connections_max},
      {.field = {.path = "server.allowed_hosts",
                 .doc = "Names, without a port, that requests may use in the Host header besides "
                        "localhost and IP addresses, or \"*\". Host is checked if this is set, or "
                        "if the gateway listens on this machine only and has no API keys."},
       .slot = &settings.allowed_hosts,
       .flag = "--allowed-host",
       .value_name = "NAME"},
      {.field =
           {.path = "server.stop_grace",
            .doc = "When the gateway stops, how long it waits for texts that are being generated.",
            .min = 0},
       .slot = &settings.stop_grace},
      daemon::MetricsListen(settings.metrics_listen),
      daemon::MetricsPublic(settings.metrics_public),
      daemon::MetricsKeysFile(settings.metrics_keys_file),
      {.field = {.path = "network.insecure",
                 .doc = "Listen where other machines can reach it without API keys or without TLS: "
                        "anyone who reaches it may use it, or read the traffic."},
       .slot = &settings.insecure,
       .flag = "--insecure"},
      {.field = {.path = "auth.keys_file",
                 .doc = "File of API keys, one per line: the SHA-256 of the key in hexadecimal "
                        "digits, then a name. It is read again when it changes. Empty: no keys.",
                 .is_path = true},
       .slot = &settings.keys_file,
       .flag = "--api-key-file",
       .value_name = "FILE"},
      {.field = {.path = "cors.origins",
                 .doc = "Origins of other sites whose pages may use the gateway, or \"*\"."},
       .slot = &settings.cors_origins,
       .flag = "--cors-origin",
       .value_name = "ORIGIN"},
  };
}

daemon::Settings Models(GatewaySettings& settings) {
  return {
      {.field = {.path = "coordinator.address",
                 .doc = "HOST:PORT, or unix:PATH, of the coordinator whose runs are served. Empty: "
                        "no coordinator."},
       .slot = &settings.coordinator,
       .flag = "--coordinator",
       .value_name = "ADDRESS"},
      {.field = {.path = "coordinator.ca",
                 .doc =
                     "PEM file of the authority that signed the coordinator's certificate: the "
                     "coordinator's security/ca.crt. Required if coordinator.address is HOST:PORT, "
                     "unless the coordinator runs with --insecure.",
                 .is_path = true},
       .slot = &settings.coordinator_ca,
       .flag = "--coordinator-ca",
       .value_name = "FILE"},
      {.field = {.path = "coordinator.token_file",
                 .doc = "File (mode 0600) of a user token. The gateway serves the runs of the "
                        "namespaces in which it is a viewer. A socket needs no token.",
                 .is_path = true},
       .slot = &settings.coordinator_token_file,
       .flag = "--coordinator-token-file",
       .value_name = "FILE"},
      {.field = {.path = "models.directories",
                 .doc = "NAME=DIR of more checkpoints, or run directories, to serve."},
       .slot = &settings.directories,
       .flag = "--model",
       .value_name = "NAME=DIR"},
      {.field = {.path = "models.scan_period",
                 .doc = "How often those directories are scanned for new checkpoints.",
                 .min = 0.05},
       .slot = &settings.scan_period},
  };
}

daemon::Settings Sampler(GatewaySettings& settings) {
  return {
      {.field = {.path = "sampler.program",
                 .doc = "The program that samples. Empty: gp-sampler beside gp-gateway, or "
                        "gp-sampler-cuda where there is a GPU.",
                 .is_path = true},
       .slot = &settings.sampler_program,
       .flag = "--sampler",
       .value_name = "FILE"},
      {.field = {.path = "sampler.threads",
                 .doc = "Cores of each sampler. 0: all that the gateway may use.",
                 .min = 0,
                 .max = 4096},
       .slot = &settings.sampler_threads,
       .flag = "--threads",
       .value_name = "COUNT"},
      {.field = {.path = "sampler.streams",
                 .doc = "Maximum number of texts that one sampler generates at a time; fewer if "
                        "they do not fit into memory.",
                 .min = 1,
                 .max = 4096},
       .slot = &settings.sampler_streams,
       .flag = "--streams",
       .value_name = "COUNT"},
      {.field = {.path = "sampler.precision",
                 .doc = "Precision of the samplers. auto: the precision of the checkpoint's run.",
                 .choices = {"auto", "fp32", "bf16"}},
       .slot = &settings.sampler_precision,
       .flag = "--precision",
       .value_name = "NAME"},
      {.field = {.path = "sampler.memory_limit",
                 .doc =
                     "Memory that all samplers together may take. 0: half of what is free at the "
                     "start.",
                 .unit = "bytes",
                 .min = 0},
       .slot = &settings.sampler_memory_limit,
       .flag = "--memory-limit",
       .value_name = "BYTES"},
      {.field = {.path = "sampler.start_timeout",
                 .doc = "Longest time from a sampler's start until it is ready.",
                 .min = 0.05},
       .slot = &settings.sampler_start_timeout},
      {.field =
           {.path = "sampler.stall_timeout",
            .doc =
                "A sampler is killed if it has texts to generate and sends nothing for this long.",
            .min = 0.05},
       .slot = &settings.sampler_stall_timeout},
  };
}

daemon::Settings Limits(GatewaySettings& settings) {
  return {
      {.field = {.path = "requests.waiting_max",
                 .doc = "Requests that may wait for one model; one client alone may have half of "
                        "them. More are refused with 429.",
                 .min = 1,
                 .max = 1e6},
       .slot = &settings.requests_waiting_max},
      {.field = {.path = "requests.timeout",
                 .doc = "Longest time from a request to its last token; then the request fails.",
                 .min = 0.05},
       .slot = &settings.request_timeout},
      {.field = {.path = "requests.body_bytes_max",
                 .doc = "Largest body of a request. Larger ones are refused with 413.",
                 .unit = "bytes",
                 .min = 1024,
                 .max = 1 << 30},
       .slot = &settings.body_bytes_max},
      {.field = {.path = "requests.header_timeout",
                 .doc = "Longest time for the header of a request to arrive.",
                 .min = 0.05},
       .slot = &settings.header_timeout},
      {.field = {.path = "requests.body_timeout",
                 .doc = "Longest time for the body of a request to arrive.",
                 .min = 0.05},
       .slot = &settings.body_timeout},
      {.field = {.path = "requests.idle_timeout",
                 .doc = "How long an idle connection stays open between two requests.",
                 .min = 0.05},
       .slot = &settings.idle_timeout},
      {.field = {.path = "requests.ping_period",
                 .doc = "After this much silence, the gateway sends a comment on an event stream "
                        "to keep it open.",
                 .min = 0.05},
       .slot = &settings.ping_period},
      {.field = {.path = "log.requests", .doc = "Log one line for each request."},
       .slot = &settings.log_requests},
  };
}

Status CheckSites(const GatewaySettings& settings) {
  for (const std::string& host : settings.allowed_hosts) {
    RETURN_IF_ERROR(WithContext(http::ParseHostName(host).status(), "server.allowed_hosts"));
  }
  for (const std::string& origin : settings.cors_origins) {
    RETURN_IF_ERROR(WithContext(http::ParseOrigin(origin).status(), "cors.origins"));
  }
  return OkStatus();
}

bool IsPrivate(const GatewaySettings& settings) {
  return !settings.keys_file.empty() && !settings.tls_certificate.empty();
}

}  // namespace

daemon::Settings SettingsTable(GatewaySettings& settings) {
  daemon::Settings all = Access(settings);
  for (auto part : {daemon::TlsPair(settings.tls_certificate, settings.tls_key, "plain HTTP."),
                    Models(settings), Sampler(settings), Limits(settings)}) {
    for (daemon::Setting& setting : part) all.push_back(std::move(setting));
  }
  return all;
}

Status CheckSettings(const GatewaySettings& settings) {
  RETURN_IF_ERROR(daemon::CheckTlsPair(settings.tls_certificate, settings.tls_key));
  if (!settings.coordinator_token_file.empty() && settings.coordinator_ca.empty() &&
      !settings.coordinator.starts_with("unix:")) {
    return InvalidArgument(
        "coordinator.token_file: a token is sent only over TLS; name the coordinator's authority "
        "with --coordinator-ca");
  }
  RETURN_IF_ERROR(CheckSites(settings));
  for (const std::string& directory : settings.directories) {
    const auto named = ParseNamedDirectory(directory);
    if (!named.ok()) return WithContext(named.status(), "models.directories");
  }
  ASSIGN_OR_RETURN(const auto address, rpc::ParseListenAddress(settings.listen));
  if (address.is_socket()) return InvalidArgument("server.listen: expected HOST:PORT");
  if (!IsPrivate(settings) && !settings.insecure && !address.IsLocal()) {
    return InvalidArgument(
        "server.listen: other machines can reach {}; give it API keys and a certificate "
        "(--api-key-file, --tls-certificate, --tls-key), or pass --insecure",
        settings.listen);
  }
  return daemon::CheckMetricsAccess(MetricsAccessOf(settings));
}

daemon::MetricsAccess MetricsAccessOf(const GatewaySettings& settings) {
  return {.listen = settings.metrics_listen,
          .is_public = settings.metrics_public,
          .insecure = settings.insecure,
          .has_certificate = !settings.tls_certificate.empty()};
}

http::SiteRules SiteRulesOf(const GatewaySettings& settings) {
  const auto address = rpc::ParseListenAddress(settings.listen);
  const bool is_local = address.ok() && address->IsLocal();
  http::SiteRules rules{.checks_host = !settings.allowed_hosts.empty() ||
                                       (is_local && settings.keys_file.empty())};
  for (const std::string& origin : settings.cors_origins) {
    rules.cors_origins.push_back(http::ParseOrigin(origin).value());
  }
  for (const std::string& host : settings.allowed_hosts) {
    rules.allowed_hosts.push_back(http::ParseHostName(host).value());
  }
  return rules;
}

Status CheckModels(const GatewaySettings& settings) {
  for (const std::string& text : settings.directories) {
    ASSIGN_OR_RETURN(const NamedDirectory named, ParseNamedDirectory(text));
    RETURN_IF_ERROR(WithContext(CheckDirectory(named), "models.directories"));
  }
  return OkStatus();
}

}  // namespace gp::gateway
