// FakeGateway: an HTTP server with the gateway's API, in the test's process and on a free port. It
// responds with what the test has set. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "lib/http/running_server.h"

namespace gp::testing {

class FakeGateway {
 public:
  FakeGateway();
  ~FakeGateway();

  // HOST:PORT.
  std::string address() const;

  // Sets the models; others are not found. Their context is 64 tokens, and each byte is a token.
  void SetModels(std::vector<std::string> models);
  // Sets the pieces in which each text is sent.
  void SetPieces(std::vector<std::string> pieces);
  // Answers completions with this error.
  void SetError(int status, const std::string& message);
  // Writes the pieces and then sends an error of this status in the stream.
  void FailAfterPieces(int status, const std::string& message);
  // Writes the pieces and then hangs.
  void HangAfterPieces();
  // Ends streams without "[DONE]".
  void BreakStreams();

  std::vector<nlohmann::json> completions() const;  // the requests received
  int left() const;                                 // clients that left a stream

 private:
  void AnswerModels(const std::shared_ptr<http::Exchange>& exchange);
  void Tokenize(const std::shared_ptr<http::Exchange>& exchange);
  void Complete(const std::shared_ptr<http::Exchange>& exchange);

  http::Router router_;
  mutable Mutex mutex_;
  std::vector<std::string> models_ GUARDED_BY(mutex_) = {"demo"};
  std::vector<std::string> pieces_ GUARDED_BY(mutex_) = {" one", " two"};
  std::optional<http::ApiError> error_ GUARDED_BY(mutex_);
  std::optional<http::ApiError> late_error_ GUARDED_BY(mutex_);
  bool hangs_ GUARDED_BY(mutex_) = false;
  bool breaks_ GUARDED_BY(mutex_) = false;
  std::vector<nlohmann::json> completions_ GUARDED_BY(mutex_);
  int left_ GUARDED_BY(mutex_) = 0;
  std::vector<std::shared_ptr<http::EventStream>> hanging_;  // used by the loop's thread only
  std::unique_ptr<http::RunningServer> server_;
};

}  // namespace gp::testing
