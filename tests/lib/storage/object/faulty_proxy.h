// FaultyProxy: passes requests on to an object store, except for the faults that a test chooses.
// One request at a time. Its methods may be called from any thread; `choose` is called by one
// thread at a time.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "lib/storage/object/scripted_server.h"

namespace gp::object {

enum class Fault {
  kNone,
  kServerError,   // 500; the store never sees the request
  kBadGateway,    // 502 with a page that is not S3's
  kSlowDown,      // 503 SlowDown
  kTooManyCalls,  // 429
  kResetBefore,   // the connection breaks before the store sees the request
  kAnswerLost,    // the store does it, and the connection breaks before the answer
  kAnswerCut,     // the connection is closed inside the body of the answer
  kAnswerReset,   // the connection breaks inside the body
  kStall,         // half of the answer comes, then nothing
  kClockSkew,
  kExpired,
  kStaleList,  // the answer that the same list had first
};

inline constexpr Fault kFirstFault = Fault::kServerError, kLastFault = Fault::kStaleList;

class FaultyProxy {
 public:
  using Choose = std::function<Fault(const SeenRequest&)>;

  // `store` is HOST:PORT on this machine.
  FaultyProxy(std::string store, Choose choose);

  std::string host() const { return server_.host(); }
  std::vector<SeenRequest> seen() const { return server_.seen(); }

 private:
  ScriptedAnswer Answer(const SeenRequest& request);
  std::string Forward(const SeenRequest& request) const;

  const std::string store_;
  const Choose choose_;
  std::map<std::string, std::string> first_lists_;  // by their targets
  ScriptedServer server_;
};

// Whether the request puts a part of an upload, or ends one.
bool IsPartPut(const SeenRequest& request);
bool IsCompletion(const SeenRequest& request);

}  // namespace gp::object
