// PullStream: a server stream that takes no thread. It asks its source for the next message, writes
// it, and asks again; when there is nothing it sleeps until the ChangeHub wakes it. A client that
// reads slowly slows its own stream only.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <memory>
#include <utility>

#include "base/mutex.h"
#include "coordinator/change_hub.h"
#include "rpc/status.h"

namespace gp::coordinator {

enum class Pull { kMessage, kWait, kEnd };

// Where a stream's messages come from. Called by one thread at a time.
template <typename Response>
class StreamSource {
 public:
  virtual ~StreamSource() = default;
  // kMessage: `response` is filled. kWait: nothing now. kEnd: nothing ever again.
  virtual StatusOr<Pull> Next(Response& response) = 0;
};

template <typename Response>
class PullStream final : public grpc::ServerWriteReactor<Response>,
                         public ChangeListener,
                         public std::enable_shared_from_this<PullStream<Response>> {
 public:
  // Owns itself until gRPC is done with it.
  static grpc::ServerWriteReactor<Response>* Start(std::unique_ptr<StreamSource<Response>> source,
                                                   const ChangeHub::Topic& topic, ChangeHub& hub) {
    auto stream = std::shared_ptr<PullStream>(new PullStream(std::move(source)));
    stream->self_ = stream;
    hub.Subscribe(topic, stream);
    stream->OnChange();
    return stream.get();
  }

  void OnChange() override { Advance(); }

  void OnWriteDone(bool ok) override {
    {
      MutexLock lock(mutex_);
      writing_ = false;
      if (!ok) cancelled_ = true;
    }
    Advance();
  }

  void OnCancel() override {
    {
      MutexLock lock(mutex_);
      cancelled_ = true;
    }
    Advance();
  }

  void OnDone() override { const std::shared_ptr<PullStream> last = std::move(self_); }

 private:
  explicit PullStream(std::unique_ptr<StreamSource<Response>> source)
      : source_(std::move(source)) {}

  // Starts at most one operation; gRPC is called outside the lock because it may call back at once.
  void Advance() {
    const auto keep = this->shared_from_this();  // Finish may run OnDone at once
    bool write = false;
    Status end;
    {
      MutexLock lock(mutex_);
      if (writing_ || finished_) return;
      const StatusOr<Pull> pull =
          cancelled_ ? StatusOr<Pull>(Cancelled("the client left")) : source_->Next(response_);
      if (pull.ok() && *pull == Pull::kWait) return;
      write = pull.ok() && *pull == Pull::kMessage;
      end = pull.status();
      (write ? writing_ : finished_) = true;
    }
    if (write) {
      this->StartWrite(&response_);
    } else {
      this->Finish(rpc::ToGrpc(end));
    }
  }

  Mutex mutex_;
  std::unique_ptr<StreamSource<Response>> source_ GUARDED_BY(mutex_);
  Response response_;  // of the write in flight
  bool writing_ GUARDED_BY(mutex_) = false;
  bool finished_ GUARDED_BY(mutex_) = false;
  bool cancelled_ GUARDED_BY(mutex_) = false;
  std::shared_ptr<PullStream> self_;  // released by OnDone
};

}  // namespace gp::coordinator
