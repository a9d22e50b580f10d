// PullStream: a server stream that holds no thread. A worker asks its source for the next message,
// gRPC writes it, a worker asks again; when there is nothing the stream sleeps until the ChangeHub
// wakes it. A slow reader slows only its own stream. A stream ends when the token that opened it is
// revoked or expires, which is checked before each message and about every second (the hub's
// sweep). Owns itself until gRPC is done with it.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "coordinator/access/access_gate.h"
#include "coordinator/control/change_hub.h"
#include "coordinator/service/request_bytes.h"
#include "coordinator/service/stream_count.h"
#include "coordinator/service/work_pool.h"
#include "rpc/status.h"

namespace gp::coordinator {

enum class Pull { kMessage, kMore, kWait, kEnd };

// The source of a stream's messages. Called by one worker at a time; it may read files.
template <typename Response>
class StreamSource {
 public:
  virtual ~StreamSource() = default;
  // kMessage: `response` is filled. kMore: there is more to read, but other streams have their turn
  // first. kWait: nothing now. kEnd: the stream is complete.
  virtual StatusOr<Pull> Next(Response& response) = 0;
};

// A stream's source, and the topics whose changes mean that the source may have something new.
template <typename Response>
struct OpenedSource {
  std::unique_ptr<StreamSource<Response>> source;
  ChangeHub::Topic topic;
};

// Dependencies of every stream; must outlive them all.
struct StreamEnvironment {
  WorkPool& pool;
  ChangeHub& hub;
};

//          OnChange         a worker           a message
//   kIdle ─────────▶ kWaiting ─────▶ kPulling ─────────▶ kWriting ──▶ kWaiting
//     ▲                                 │ nothing new (kMore, or a change meanwhile: kWaiting)
//     └─────────────────────────────────┘            any, at an end ──▶ kFinished
template <typename Response>
class PullStream final : public grpc::ServerWriteReactor<grpc::ByteBuffer>,
                         public ChangeListener,
                         public Work,
                         public std::enable_shared_from_this<PullStream<Response>> {
 public:
  // Called once, by a worker.
  using Open = std::function<StatusOr<OpenedSource<Response>>()>;

  static grpc::ServerWriteReactor<grpc::ByteBuffer>* Start(std::string caller,
                                                           std::shared_ptr<AdmittedCall> access,
                                                           Open open, StreamPlace place,
                                                           StreamEnvironment environment) {
    auto stream = std::shared_ptr<PullStream>(new PullStream(
        std::move(caller), std::move(access), std::move(open), std::move(place), environment));
    stream->self_ = stream;
    stream->OnChange();
    return stream.get();
  }

  void OnChange() override {
    {
      MutexLock lock(mutex_);
      news_ = true;
      if (phase_ != Phase::kIdle) return;
      phase_ = Phase::kWaiting;
    }
    Post();
  }

  void Run() override {
    {
      MutexLock lock(mutex_);
      if (phase_ != Phase::kWaiting) return;
      phase_ = Phase::kPulling;
      news_ = false;
    }
    Response response;
    const StatusOr<Pull> pull = Next(response);
    if (!pull.ok() || *pull == Pull::kEnd) return End(pull.status());
    if (*pull != Pull::kMessage) return Rest(*pull == Pull::kMore);
    Write(response);
  }

  void Refuse(const Status& why) override { End(why); }

  void OnWriteDone(bool ok) override {
    {
      MutexLock lock(mutex_);
      phase_ = Phase::kWaiting;
    }
    if (!ok || cancelled()) return End(Cancelled("the client left"));
    Post();
  }

  void OnCancel() override {
    {
      MutexLock lock(mutex_);
      cancelled_ = true;
    }
    environment_.pool.Withdraw(caller_, *this);
    End(Cancelled("the client left"));
  }

  void OnDone() override { const std::shared_ptr<PullStream> last = std::move(self_); }

 private:
  enum class Phase { kIdle, kWaiting, kPulling, kWriting, kFinished };

  PullStream(std::string caller, std::shared_ptr<AdmittedCall> access, Open open, StreamPlace place,
             StreamEnvironment environment)
      : caller_(std::move(caller)),
        access_(std::move(access)),
        place_(std::move(place)),
        environment_(environment),
        open_(std::move(open)) {}

  bool cancelled() {
    MutexLock lock(mutex_);
    return cancelled_;
  }

  void Post() { environment_.pool.Post(caller_, this->shared_from_this()); }

  StatusOr<Pull> Next(Response& response) {
    RETURN_IF_ERROR(access_->Check());
    if (source_ == nullptr) {
      ASSIGN_OR_RETURN(OpenedSource<Response> opened, open_());
      source_ = std::move(opened.source);
      open_ = nullptr;
      environment_.hub.Subscribe(opened.topic, this->shared_from_this());
    }
    return source_->Next(response);
  }

  // Sleeps until the next change. With `more`, or if a change was announced during the pull, waits
  // for its next turn instead.
  void Rest(bool more) {
    {
      MutexLock lock(mutex_);
      if (phase_ != Phase::kPulling) return;
      phase_ = more || news_ ? Phase::kWaiting : Phase::kIdle;
      if (phase_ == Phase::kIdle) return;
    }
    Post();
  }

  void Write(const Response& response) {
    const auto keep = this->shared_from_this();
    outgoing_ = Serialize(response);
    {
      MutexLock lock(mutex_);
      if (phase_ != Phase::kPulling) return;
      phase_ = Phase::kWriting;
    }
    // Outside the lock: gRPC may call back at once.
    this->StartWrite(&outgoing_);
  }

  // Ends the stream once. During a write, OnWriteDone does it.
  void End(const Status& status) {
    const auto keep = this->shared_from_this();
    {
      MutexLock lock(mutex_);
      if (phase_ == Phase::kFinished || phase_ == Phase::kWriting) return;
      phase_ = Phase::kFinished;
    }
    this->Finish(rpc::ToGrpc(status));
  }

  const std::string caller_;  // from CallerOf
  const std::shared_ptr<AdmittedCall> access_;
  const StreamPlace place_;
  const StreamEnvironment environment_;
  Open open_;  // this and the next two are used only by the worker that pulls
  std::unique_ptr<StreamSource<Response>> source_;
  grpc::ByteBuffer outgoing_;  // used by the pulling worker, then by the write in flight

  Mutex mutex_;
  Phase phase_ GUARDED_BY(mutex_) = Phase::kIdle;
  bool news_ GUARDED_BY(mutex_) = false;  // a change was announced since the last pull began
  bool cancelled_ GUARDED_BY(mutex_) = false;
  std::shared_ptr<PullStream> self_;  // released by OnDone
};

}  // namespace gp::coordinator
