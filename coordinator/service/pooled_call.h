// PooledCall: a unary call whose work runs on the threads of a WorkPool, once the AccessGate has
// admitted it. If the client disconnects, work that has not begun is dropped; running work
// continues, and its answer is not sent. Owns itself until gRPC is done with it and the work has
// ended. Answer may be called from any thread.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "coordinator/access/access_gate.h"
#include "coordinator/service/request_bytes.h"
#include "coordinator/service/work_pool.h"
#include "rpc/status.h"

namespace gp::coordinator {

// How a method is handled.
struct Handling {
  AccessGate& gate;
  const AccessRule& rule;
  WorkPool& pool;  // parses the request and takes the first step
};

template <typename Request, typename Response>
class PooledCall final : public grpc::ServerUnaryReactor,
                         public Work,
                         public std::enable_shared_from_this<PooledCall<Request, Response>> {
 public:
  using Step = std::function<void(PooledCall&)>;

  // If the caller is admitted, parses the request on a thread of the pool and runs `first` there.
  // `first` authorizes the subject of the request, then calls Answer or Then.
  static grpc::ServerUnaryReactor* Start(const Handling& handling,
                                         grpc::CallbackServerContext* context,
                                         const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response, Step first) {
    auto call = std::shared_ptr<PooledCall>(new PooledCall(CallerOf(*context), *request, response));
    call->self_ = call;
    auto admitted = handling.gate.Admit(rpc::ReadCaller(*context), handling.rule.method);
    const Status length = CheckLength(*request, handling.rule.request_bytes_max);
    if (!admitted.ok() || !length.ok()) {
      call->Finished(admitted.ok() ? length : admitted.status());
      return call.get();
    }
    call->access_ = *std::move(admitted);
    call->Then(handling.pool, [first = std::move(first)](PooledCall& self) { self.Begin(first); });
    return call.get();
  }

  AdmittedCall& access() { return *access_; }

  const Request& request() const { return request_; }
  // A step fills it before it calls Answer.
  Response& response() { return response_; }

  // Runs `next` in `pool`. A step must call this last.
  void Then(WorkPool& pool, Step next) {
    {
      MutexLock lock(mutex_);
      if (answered_) return;
      pool_ = &pool;
      next_ = std::move(next);
    }
    pool.Post(caller_, this->shared_from_this());
  }

  // Ends the work; called once by its last step. If the method changes something, its success is
  // written to the audit log before it is answered, even if the client has disconnected; an error
  // is only queued for the log.
  void Answer(const Status& status) {
    if (!access_->rule().mutates) return Finished(status);
    access_->Conclude(status, [keep = this->shared_from_this()](const Status& answer) {
      keep->Finished(answer);
    });
  }
  // The same for a call that changed nothing, such as a dry run.
  void AnswerUnchanged(const Status& status) { Finished(status); }

  void Run() override {
    Step next;
    {
      MutexLock lock(mutex_);
      if (answered_) return;
      next = std::move(next_);
    }
    next(*this);
  }
  void Refuse(const Status& why) override { Finished(why); }

  // gRPC also calls this at the call's deadline.
  void OnCancel() override {
    WorkPool* pool = nullptr;
    {
      MutexLock lock(mutex_);
      pool = pool_;
    }
    if (pool != nullptr) pool->Withdraw(caller_, *this);
    Finished(Cancelled("the client left"));
  }
  void OnDone() override { const std::shared_ptr<PooledCall> last = std::move(self_); }

 private:
  PooledCall(std::string caller, grpc::ByteBuffer bytes, grpc::ByteBuffer* out)
      : caller_(std::move(caller)), bytes_(std::move(bytes)), out_(out) {}

  // Only the first answer counts. If the client has disconnected, OnCancel has answered already.
  void Finished(const Status& status) {
    const auto keep = this->shared_from_this();
    {
      MutexLock lock(mutex_);
      if (answered_) return;
      answered_ = true;
    }
    if (status.ok()) *out_ = Serialize(response_);
    this->Finish(rpc::ToGrpc(status));
  }

  void Begin(const Step& first) {
    StatusOr<Request> request = Parse<Request>(bytes_);
    bytes_.Clear();
    if (!request.ok()) return Answer(request.status());
    request_ = *std::move(request);
    first(*this);
  }

  const std::string caller_;              // from CallerOf
  std::shared_ptr<AdmittedCall> access_;  // null if the call was not admitted
  grpc::ByteBuffer bytes_;                // the request until it is parsed
  grpc::ByteBuffer* out_;                 // owned by gRPC; gets the serialized response
  Request request_;
  Response response_;

  Mutex mutex_;
  bool answered_ GUARDED_BY(mutex_) = false;
  WorkPool* pool_ GUARDED_BY(mutex_) = nullptr;
  Step next_ GUARDED_BY(mutex_);
  std::shared_ptr<PooledCall> self_;  // released by OnDone
};

}  // namespace gp::coordinator
