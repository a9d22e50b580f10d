// Server: serves HTTP/1.1 on one address: accepts connections, enforces their limits, and calls
// handlers by path. Made, used and destroyed in the loop's thread, or while the loop does not run.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "http/event_loop.h"
#include "http/server_options.h"
#include "http/transport.h"

namespace gp::http {

struct ServerPlace {
  std::string host = "127.0.0.1";  // without brackets
  int port = 0;                    // 0: any free one
};

class Server {
 public:
  // `tls` may be null; it must outlive the server. An error names the address.
  static StatusOr<std::unique_ptr<Server>> Start(EventLoop& loop, const ServerPlace& place,
                                                 ServerContext context, const TlsContext* tls);
  virtual ~Server() = default;

  virtual int port() const = 0;
  virtual int connections() const = 0;

  // Accepts no more connections and closes idle ones. Requests that have begun to arrive are still
  // read and answered.
  virtual void Drain() = 0;
  // Whether no connection is left. After Drain this means that every request is answered and every
  // answer is sent.
  virtual bool idle() const = 0;
};

}  // namespace gp::http
