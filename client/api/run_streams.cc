#include "client/api/run_streams.h"

#include <optional>
#include <utility>

#include "base/mutex.h"
#include "rpc/channel.h"
#include "rpc/status.h"

namespace gp::client {
namespace {

template <typename Request, typename Message>
class Reader final : public OpenStream, private grpc::ClientReadReactor<Message> {
 public:
  using Open = void (v1::RunService::StubInterface::async_interface::*)(
      grpc::ClientContext*, const Request*, grpc::ClientReadReactor<Message>*);

  Reader(
      v1::RunService::StubInterface& stub, const CallCredentials& credentials, Open open,
      Request request, RunStreams::Consumer<Message> consumer,
      std::function<void(const Status&)> ended = [](const Status&) {})
      : request_(std::move(request)), consumer_(std::move(consumer)), ended_(std::move(ended)) {
    Show(credentials, context_);
    (stub.async()->*open)(&context_, &request_, this);
    this->StartRead(&message_);
    this->StartCall();
  }

  ~Reader() override {
    context_.TryCancel();
    MutexLock lock(mutex_);
    while (!end_) changed_.Wait(mutex_);
  }

  std::optional<Status> end() const override {
    MutexLock lock(mutex_);
    return end_;
  }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) return;
    consumer_(message_);
    this->StartRead(&message_);
  }

  void OnDone(const grpc::Status& status) override {
    const Status end = rpc::FromGrpc(status);
    ended_(end);
    MutexLock lock(mutex_);
    end_ = end;
    changed_.NotifyAll();
  }

  grpc::ClientContext context_;
  const Request request_;
  const RunStreams::Consumer<Message> consumer_;
  const std::function<void(const Status&)> ended_;
  Message message_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::optional<Status> end_ GUARDED_BY(mutex_);
};

using Async = v1::RunService::StubInterface::async_interface;

}  // namespace

RunStreams::RunStreams(const std::string& address, CallCredentials credentials,
                       const std::optional<rpc::ChannelTls>& tls)
    : credentials_(CheckTokenMayGo(credentials, address, tls.has_value()).ok()
                       ? std::move(credentials)
                       : CallCredentials()),
      stub_(v1::RunService::NewStub(rpc::MakeChannel(address, {.tls = tls}))) {}

RunStreams::~RunStreams() = default;

std::unique_ptr<OpenStream> RunStreams::Events(v1::EventsRequest request,
                                               Consumer<v1::RunEvent> consumer) {
  return std::make_unique<Reader<v1::EventsRequest, v1::RunEvent>>(
      *stub_, credentials_, &Async::Events, std::move(request), std::move(consumer));
}

std::unique_ptr<OpenStream> RunStreams::Metrics(v1::MetricsRequest request,
                                                Consumer<v1::MetricPoint> consumer) {
  if (lacks_points_) {
    return std::make_unique<Reader<v1::MetricsRequest, v1::MetricPoint>>(
        *stub_, credentials_, &Async::Metrics, std::move(request), std::move(consumer));
  }
  return std::make_unique<Reader<v1::MetricsRequest, v1::MetricPoints>>(
      *stub_, credentials_, &Async::Points, std::move(request),
      [consumer = std::move(consumer)](const v1::MetricPoints& page) {
        for (const v1::MetricPoint& point : page.points()) consumer(point);
      },
      [this](const Status& status) {
        if (status.code() == StatusCode::kUnimplemented) lacks_points_ = true;
      });
}

std::unique_ptr<OpenStream> RunStreams::Logs(v1::LogsRequest request,
                                             Consumer<v1::LogLine> consumer) {
  return std::make_unique<Reader<v1::LogsRequest, v1::LogLine>>(
      *stub_, credentials_, &Async::Logs, std::move(request), std::move(consumer));
}

}  // namespace gp::client
