// GatewayClient: calls a gateway over plain HTTP, without an API key: models, tokens, and texts as
// they are written. gpctl uses it for gateways on this machine. Owned by the caller; used by one
// thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/status.h"
#include "client/api/interruption.h"

namespace gp::client {

struct GatewayClientOptions {
  std::string address;  // HOST:PORT
  std::chrono::milliseconds connect_timeout = std::chrono::seconds(3);
  // A call fails when no byte arrives for longer; whole seconds, at least 1. During a stream the
  // gateway sends a comment every 15 s (requests.ping_period).
  std::chrono::milliseconds silence_max = std::chrono::seconds(60);
};

struct GatewayModel {
  std::string id;    // "demo@2000"
  std::string root;  // "demo"
  int64_t step = 0;
  int64_t context = 0;  // tokens of prompt and text together; 0: unknown
};

struct CompletionOptions {
  std::string model;
  std::variant<std::string, std::vector<int32_t>> prompt;  // text, or token ids
  int64_t max_tokens = 200;
  double temperature = 0.8;
  int64_t top_k = 50;
  double top_p = 1;
  double min_p = 0;
  double presence_penalty = 0;
  double frequency_penalty = 0;
  std::vector<std::string> stop;
  uint64_t seed = 1337;
  int count = 1;  // number of texts, all with this seed
};

struct Tokens {
  std::vector<int32_t> ids;
  int64_t context = 0;  // 0: unknown
};

class GatewayClient {
 public:
  // `interruption` ends every call with Cancelled; it must outlive this object.
  GatewayClient(GatewayClientOptions options, Interruption& interruption);

  const std::string& address() const { return options_.address; }

  StatusOr<std::vector<GatewayModel>> Models();
  StatusOr<Tokens> Tokenize(const std::string& model, const std::string& text);
  // Calls `on_text` with each piece of each text, by its index, as it is written. An error has the
  // gateway's own message: NotFound for an unknown model, Unavailable when the gateway is busy,
  // out of time, gone or ends the stream early. An error after the first text has the same codes.
  using OnText = std::function<void(int index, const std::string& piece)>;
  Status Complete(const CompletionOptions& request, const OnText& on_text);

 private:
  struct Call {
    std::string path;
    std::string body;  // JSON; empty: a GET
    std::function<Status(std::string_view piece)> on_body;
  };
  Status Perform(const Call& call);
  StatusOr<std::string> Fetch(const std::string& path, const std::string& body = "");

  const GatewayClientOptions options_;
  Interruption& interruption_;
};

}  // namespace gp::client
