// PooledCall: a call with one answer that is worked out by the threads of a WorkPool. Work that the
// client no longer waits for is not started; what is in progress then goes on for nobody. Owns
// itself until gRPC is done with it and the work has ended. Answer may be called from any thread.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "coordinator/service/request_bytes.h"
#include "coordinator/service/work_pool.h"
#include "rpc/status.h"

namespace gp::coordinator {

template <typename Request, typename Response>
class PooledCall final : public grpc::ServerUnaryReactor,
                         public Work,
                         public std::enable_shared_from_this<PooledCall<Request, Response>> {
 public:
  using Step = std::function<void(PooledCall&)>;

  // Parses the request in `pool` and takes `first` there, which answers or goes on with Then.
  static grpc::ServerUnaryReactor* Start(grpc::CallbackServerContext* context,
                                         const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response, size_t bytes_max,
                                         WorkPool& pool, Step first) {
    auto call = std::shared_ptr<PooledCall>(new PooledCall(CallerOf(*context), *request, response));
    call->self_ = call;
    const Status length = CheckLength(*request, bytes_max);
    if (!length.ok()) {
      call->Answer(length);
    } else {
      call->Then(pool, [first = std::move(first)](PooledCall& self) { self.Begin(first); });
    }
    return call.get();
  }

  const Request& request() const { return request_; }
  // Filled before Answer.
  Response& response() { return response_; }

  // Goes on in `pool`. The last thing that a step does.
  void Then(WorkPool& pool, Step next) {
    {
      MutexLock lock(mutex_);
      if (answered_) return;
      pool_ = &pool;
      next_ = std::move(next);
    }
    pool.Post(caller_, this->shared_from_this());
  }

  // The first one counts: a client that left has been answered already.
  void Answer(const Status& status) {
    const auto keep = this->shared_from_this();
    {
      MutexLock lock(mutex_);
      if (answered_) return;
      answered_ = true;
    }
    if (status.ok()) *out_ = Serialize(response_);
    this->Finish(rpc::ToGrpc(status));
  }

  void Run() override {
    Step next;
    {
      MutexLock lock(mutex_);
      if (answered_) return;
      next = std::move(next_);
    }
    next(*this);
  }
  void Refuse(const Status& why) override { Answer(why); }

  // Also at the call's deadline.
  void OnCancel() override {
    WorkPool* pool = nullptr;
    {
      MutexLock lock(mutex_);
      pool = pool_;
    }
    if (pool != nullptr) pool->Withdraw(caller_, *this);
    Answer(Cancelled("the client left"));
  }
  void OnDone() override { const std::shared_ptr<PooledCall> last = std::move(self_); }

 private:
  PooledCall(std::string caller, grpc::ByteBuffer bytes, grpc::ByteBuffer* out)
      : caller_(std::move(caller)), bytes_(std::move(bytes)), out_(out) {}

  void Begin(const Step& first) {
    StatusOr<Request> request = Parse<Request>(bytes_);
    bytes_.Clear();
    if (!request.ok()) return Answer(request.status());
    request_ = *std::move(request);
    first(*this);
  }

  const std::string caller_;  // the connection
  grpc::ByteBuffer bytes_;    // the request until it is parsed
  grpc::ByteBuffer* out_;     // gRPC's, until the answer
  Request request_;
  Response response_;

  Mutex mutex_;
  bool answered_ GUARDED_BY(mutex_) = false;
  WorkPool* pool_ GUARDED_BY(mutex_) = nullptr;
  Step next_ GUARDED_BY(mutex_);
  std::shared_ptr<PooledCall> self_;  // released by OnDone
};

}  // namespace gp::coordinator
