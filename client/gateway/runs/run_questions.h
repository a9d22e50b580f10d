// RunQuestions: asks the coordinator what a page needs besides the board, on its own thread, one
// call at a time. Owned by the RunBoard; thread-safe.
#pragma once

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/mailbox.h"
#include "base/status.h"
#include "client/api/run_client.h"

namespace gp::gateway {

class RunQuestions {
 public:
  // The client must outlive this object. The destructor waits until all queued calls are done;
  // interrupt the client to end them at once.
  explicit RunQuestions(client::RunClient& client);
  ~RunQuestions();

  // `answer` is called once, on the thread of this object; or, when 64 calls wait already, before
  // this returns, on the caller's thread, with ResourceExhausted.
  void List(const v1::ListRequest& request,
            std::function<void(const StatusOr<v1::ListResponse>&)> answer);
  void Get(const std::string& reference, std::function<void(const StatusOr<v1::Run>&)> answer);
  // `sweep`: "NAMESPACE/NAME".
  void GetSweep(const std::string& sweep, std::function<void(const StatusOr<v1::Sweep>&)> answer);
  void ListSweeps(std::function<void(const StatusOr<v1::ListSweepsResponse>&)> answer);
  // All of these runs, in this order; the first error if one of them cannot be returned.
  void GetAll(const std::vector<std::string>& references,
              std::function<void(const StatusOr<std::vector<v1::Run>>&)> answer);

 private:
  StatusOr<std::vector<v1::Run>> FetchAll(const std::vector<std::string>& references);
  void Ask(std::function<void()> question, const std::function<void(const Status&)>& refuse);
  void KeepAsking();

  client::RunClient& client_;
  Mailbox<std::function<void()>> waiting_;
  std::thread thread_;
};

}  // namespace gp::gateway
