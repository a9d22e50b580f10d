// RunStreams: the coordinator's streams without a thread for each, for programs that follow many
// runs at once. Consumers are called on gRPC's threads, one message of a stream at a time, and must
// be short. Unlike RunClient's, messages are passed on as they were sent: not checked for
// characters that are unsafe to show. A stream that breaks is not reopened; its owner opens
// another. Thread-safe.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/status.h"
#include "client/api/call_credentials.h"
#include "gp/v1/run_service.grpc.pb.h"
#include "rpc/tls.h"

namespace gp::client {

// A stream in progress. Its destructor cancels it and waits until the consumer has returned for the
// last time, so it must not run in the consumer.
class OpenStream {
 public:
  virtual ~OpenStream() = default;
  // The status that the stream ended with, or nullopt before its end. OK: the coordinator has
  // nothing more to send.
  virtual std::optional<Status> end() const = 0;
};

class RunStreams {
 public:
  template <typename Message>
  using Consumer = std::function<void(const Message&)>;

  // HOST:PORT or unix:PATH. Each stream sends the credentials, except to a HOST:PORT without TLS:
  // then it is opened without them. Must outlive its streams.
  explicit RunStreams(const std::string& address, CallCredentials credentials = {},
                      const std::optional<rpc::ChannelTls>& tls = {});
  ~RunStreams();

  std::unique_ptr<OpenStream> Events(v1::EventsRequest request, Consumer<v1::RunEvent> consumer);
  // An older coordinator has no RunService/Points: the first stream ends with kUnimplemented, and
  // those that are opened later call RunService/Metrics.
  std::unique_ptr<OpenStream> Metrics(v1::MetricsRequest request,
                                      Consumer<v1::MetricPoint> consumer);
  std::unique_ptr<OpenStream> Logs(v1::LogsRequest request, Consumer<v1::LogLine> consumer);

 private:
  const CallCredentials credentials_;
  std::unique_ptr<v1::RunService::Stub> stub_;
  std::atomic<bool> lacks_points_ = false;
};

}  // namespace gp::client
