// ModelPool: the loaded checkpoints, one sampler process each, within a memory limit; the requests
// waiting for each; and what happens when a sampler ends. A sampler stays loaded until another
// model needs its memory: then idle samplers are stopped, the least recently used first. Used in
// the loop.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/backoff.h"
#include "client/gateway/models/checkpoint_facts.h"
#include "client/gateway/models/sampler_process.h"
#include "client/gateway/models/text_request.h"
#include "http/api_error.h"
#include "http/event_loop.h"

namespace gp::gateway {

struct ModelPoolOptions {
  SamplerCommand command;
  int threads = 1;
  int64_t streams = 32;               // texts that each model writes at a time, if memory allows
  std::string precision = "auto";     // or fp32, bf16
  uint64_t memory_bytes_max = 0;      // for all samplers together
  size_t requests_waiting_max = 256;  // for each model; one client: at most as many as are free
  // From Submit to the last token; then the request fails with 504.
  std::chrono::nanoseconds request_timeout = std::chrono::minutes(10);
  // A sampler that is not ready after this time is killed.
  std::chrono::nanoseconds start_timeout = std::chrono::minutes(2);
  // A sampler that is writing texts and sends nothing for this long is killed.
  std::chrono::nanoseconds stall_timeout = std::chrono::minutes(1);
  // After a request has waited for memory this long, busy models take no new texts, finish those in
  // progress and are stopped, the least recently used first.
  std::chrono::nanoseconds yield_after = std::chrono::seconds(5);
  std::chrono::nanoseconds tick = std::chrono::milliseconds(250);
  BackoffOptions restart = {.initial = std::chrono::milliseconds(100),
                            .max = std::chrono::seconds(30)};
  // The memory that a sampler of this checkpoint takes (SamplerMemory).
  std::function<StatusOr<uint64_t>(const CheckpointFacts& facts)> memory_bytes;
};

enum class ModelState { kIdle, kLoading, kReady, kFailed };
// "idle", "loading", "ready", "failed".
std::string_view Name(ModelState state);

struct PoolCounts {
  int loaded = 0;   // samplers that are ready
  int loading = 0;  // samplers that were started and are not ready yet
  int64_t texts_running = 0;
  int64_t requests_waiting = 0;
  uint64_t memory_bytes = 0;
  uint64_t restarts = 0;  // samplers that ended without Stop: crashed, killed here, not startable
};

class ModelPool {
 public:
  ModelPool(http::EventLoop& loop, ModelPoolOptions options);
  ~ModelPool();
  ModelPool(const ModelPool&) = delete;
  ModelPool& operator=(const ModelPool&) = delete;

  // Queues the texts and loads the model if necessary. An error means that the request was refused
  // and no callback will be called: 503 without memory or while the model is failed, 500 for a
  // damaged checkpoint, 429 when the queue is full. `name` is for messages.
  std::optional<http::ApiError> Submit(const SharedFacts& facts, const std::string& name,
                                       const std::shared_ptr<TextRequest>& request);
  // Drops the request, because its client no longer waits. Calls no callback.
  void Withdraw(uint64_t ticket);

  // The directory of the checkpoint that answers for a moving name: the newest one; or the previous
  // one if a sampler has it ready, and the newest one is being loaded, has failed lately, or has
  // been the newest for less than 2 s.
  std::string Route(const std::string& alias, const std::string& newest);
  // Loads the checkpoint in advance, because requests are expected. May stop idle samplers, but no
  // busy ones. True when its sampler runs or was started; false when it waits for memory or failed.
  bool Prepare(const SharedFacts& facts, const std::string& name);
  // The directories whose sampler runs: loading, ready or leaving.
  std::vector<std::string> Loaded() const;
  // The directory that Route last returned for `alias`, when its sampler is ready.
  std::optional<std::string> Answering(const std::string& alias) const;

  ModelState StateOf(const std::string& directory) const;
  // By directory; those that are missing are idle.
  std::map<std::string, ModelState> States() const;
  // Why the last load failed; empty when it did not.
  std::string ProblemOf(const std::string& directory) const;
  PoolCounts Counts() const;
  // Fails waiting and running requests. For the gateway's shutdown.
  void FailAll(const http::ApiError& error);

 private:
  struct Model;
  using Time = std::chrono::steady_clock::time_point;

  Model& ModelOf(const SharedFacts& facts, const std::string& name);
  Model* Find(const std::string& directory) const;
  StatusOr<uint64_t> MemoryOf(const CheckpointFacts& facts) const;
  // Starts wanted samplers and makes room for them.
  void Balance();
  bool MakeRoom(uint64_t bytes, const Model& wanted);
  uint64_t Used() const;
  void Begin(Model& model);
  // Hands texts to the sampler, as many as it has room for.
  void Pump(Model& model);
  void Write(Model& model, const FairQueue::Waiting& next);
  void OnPiece(Model& model, link::TextPiece piece);
  void OnEnded(const std::string& directory, const Status& status);
  void FailRunning(Model& model, const http::ApiError& error);
  void FailWaiting(Model& model, const http::ApiError& error);
  void Fail(const std::shared_ptr<TextRequest>& request, const http::ApiError& error);
  void Expire(uint64_t ticket, const std::string& directory);
  void Tick();

  http::EventLoop& loop_;
  const ModelPoolOptions options_;
  std::map<std::string, std::unique_ptr<Model>> models_;  // by directory
  std::map<uint64_t, std::string> tickets_;               // the directory of each request
  // An alias: the directory that answers now, and the next one.
  struct Alias {
    std::string answering;
    std::string awaited;
    Time awaited_since;
  };
  std::map<std::string, Alias> aliases_;
  uint64_t next_ticket_ = 0;
  uint64_t next_text_ = 0;
  uint64_t uses_ = 0;
  uint64_t restarts_ = 0;
  std::unique_ptr<http::Timer> tick_;
};

}  // namespace gp::gateway
