// The options of a server: limits, and the state its connections share. Values; used in the loop.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "http/exchange.h"
#include "http/router.h"
#include "http/site_check.h"

namespace gp::http {

struct ServerLimits {
  int connections_max = 2000;
  size_t header_bytes_max = 16 << 10;
  size_t body_bytes_max = 10 << 20;
  // Limit for the bytes of all bodies, from their first byte until they are used, and of all
  // answers until they are sent. A request that would exceed it is refused with 503. One client may
  // hold as much as is still free (http/byte_budget.h).
  size_t held_bytes_max = 96 << 20;
  // An event stream with more than this unsent is closed at the next event.
  size_t unsent_bytes_max = 1 << 20;
  std::chrono::nanoseconds header_timeout = std::chrono::seconds(10);
  std::chrono::nanoseconds body_timeout = std::chrono::seconds(60);
  std::chrono::nanoseconds idle_timeout = std::chrono::seconds(75);   // between two requests
  std::chrono::nanoseconds write_timeout = std::chrono::seconds(60);  // nothing could be written
  std::chrono::nanoseconds linger_timeout = std::chrono::seconds(3);  // after the last answer
  std::chrono::nanoseconds ping_period = std::chrono::seconds(15);
  std::chrono::nanoseconds tick = std::chrono::milliseconds(250);  // resolution of these times
};

// One exchange that is over, for the access log and the metrics.
struct ExchangeRecord {
  std::string method;
  std::string target;    // as sent, shortened
  std::string endpoint;  // the route's pattern, or "other"
  int status = 0;        // 499: the client left before the answer
  uint64_t bytes = 0;    // of the answer with its header; of an event stream, the events alone
  std::chrono::nanoseconds duration{0};
  std::string client_address;
  std::string key_name;
  std::string request_id;
  ExchangeNotes notes;
  std::chrono::steady_clock::time_point begun;
};

struct ServerContext {
  const Router& router;
  ServerLimits limits;
  SiteRules sites;  // the server's own pages need no entry
  // The name of the key that a request presents; nullopt when it presents no valid key. Empty: the
  // server needs no keys.
  std::function<std::optional<std::string>(std::string_view authorization)> key_name;
  std::function<void(const ExchangeRecord&)> finished;  // may be absent
};

}  // namespace gp::http
