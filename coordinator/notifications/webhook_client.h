// WebhookClient: sends one HTTP request to an untrusted receiver, with libcurl. It connects
// only to addresses that AddressRefusal allows, verifies the certificate of https, follows no
// redirect, uses no proxy, and limits the time and the bytes of the answer. Functions; thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"

namespace gp::coordinator {

struct WebhookRequest {
  std::string url;
  std::vector<std::string> headers;  // "Name: value"
  std::string body;                  // JSON
  bool allow_private_addresses = false;
};

struct WebhookReply {
  int status = 0;       // of HTTP
  std::string excerpt;  // the beginning of the answer, safe to show
  bool accepted() const { return status >= 200 && status < 300; }
};

struct WebhookLimits {
  std::chrono::milliseconds connect = std::chrono::seconds(5);
  std::chrono::milliseconds total = std::chrono::seconds(10);
  size_t answer_bytes_max = 4096;  // of the body; the rest is not read
};

// Sends the request with POST. Any HTTP status is a reply. An error says what went wrong and names
// the host, but not the URL, which may be a secret. Ends with Cancelled soon after `stopped`
// returns true; it is called often, on this thread.
StatusOr<WebhookReply> PostWebhook(const WebhookRequest& request,
                                   const std::function<bool()>& stopped,
                                   const WebhookLimits& limits = {});

}  // namespace gp::coordinator
