// ScriptedServer: an HTTP server on a free port of this machine whose answers a test writes byte by
// byte, also wrong ones. One request for each connection. Its methods may be called from any
// thread; the script is called by one thread at a time.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "base/mutex.h"

namespace gp::object {

struct SeenRequest {
  std::string method;
  std::string target;                          // as it was sent: path and query
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
  std::string text;  // all of it
};

struct ScriptedAnswer {
  enum class End { kClose, kReset, kStall };

  std::string bytes;
  // What happens after the bytes. kReset: the client sees that the connection was reset. kStall:
  // nothing, until the client closes the connection.
  End end = End::kClose;
};

// An answer as servers write it.
ScriptedAnswer Reply(int status, const std::string& body = "", const std::string& headers = "");
// S3's error.
ScriptedAnswer ErrorReply(int status, const std::string& code, const std::string& more = "");

class ScriptedServer {
 public:
  using Script = std::function<ScriptedAnswer(const SeenRequest&)>;

  explicit ScriptedServer(Script script);
  ~ScriptedServer();

  std::string host() const;    // "127.0.0.1:1234"
  std::string origin() const;  // "http://127.0.0.1:1234"
  std::vector<SeenRequest> seen() const;

 private:
  void Serve();
  void Answer(FileDescriptor connection);

  const Script script_;
  FileDescriptor listener_;
  int port_ = 0;
  mutable Mutex mutex_;
  std::vector<SeenRequest> seen_ GUARDED_BY(mutex_);
  Mutex script_mutex_;
  std::vector<std::jthread> answers_;  // of the thread below
  std::jthread thread_;
};

}  // namespace gp::object
