// ModelPool: the loaded checkpoints, one sampler process each, within a memory limit; the requests
// waiting for each; and what happens when a sampler ends. When memory is needed, idle samplers are
// stopped, the least recently used first. Used in the loop.
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
  int64_t streams = 32;               // texts that each model writes at a time
  std::string precision = "auto";     // or fp32, bf16
  uint64_t memory_bytes_max = 0;      // for all samplers together
  size_t requests_waiting_max = 256;  // for each model
  std::chrono::nanoseconds request_timeout = std::chrono::minutes(10);
  std::chrono::nanoseconds start_timeout = std::chrono::minutes(2);
  // A sampler that is writing texts and is silent for this long is treated as hung.
  std::chrono::nanoseconds stall_timeout = std::chrono::minutes(1);
  // After a request has waited for room this long, a busy model finishes its texts and leaves.
  std::chrono::nanoseconds yield_after = std::chrono::seconds(5);
  std::chrono::nanoseconds tick = std::chrono::milliseconds(250);
  BackoffOptions restart = {.initial = std::chrono::milliseconds(100),
                            .max = std::chrono::seconds(30)};
  // The memory that a sampler of this checkpoint takes.
  std::function<StatusOr<uint64_t>(const CheckpointFacts& facts)> memory_bytes;
};

enum class ModelState { kIdle, kLoading, kReady, kFailed };
// "idle", "loading", "ready", "failed".
std::string_view Name(ModelState state);

struct PoolCounts {
  int loaded = 0;   // samplers that are ready
  int loading = 0;  // or leaving
  int64_t texts_running = 0;
  int64_t requests_waiting = 0;
  uint64_t memory_bytes = 0;
  uint64_t restarts = 0;  // after a sampler that ended by itself
};

class ModelPool {
 public:
  ModelPool(http::EventLoop& loop, ModelPoolOptions options);
  ~ModelPool();
  ModelPool(const ModelPool&) = delete;
  ModelPool& operator=(const ModelPool&) = delete;

  // Has the texts written. An error: it was refused and nothing is called. `name` is for messages.
  std::optional<http::ApiError> Submit(const SharedFacts& facts, const std::string& name,
                                       const std::shared_ptr<TextRequest>& request);
  // The client no longer waits; no callback is called.
  void Withdraw(uint64_t ticket);

  // The checkpoint that answers for a moving name: the newest one, or, while that is being loaded,
  // the previous one.
  std::string Route(const std::string& alias, const std::string& newest);
  // Loads it in advance where there is room, because requests are expected.
  bool Prepare(const SharedFacts& facts, const std::string& name);
  // The checkpoints that samplers have, or are about to have.
  std::vector<std::string> Loaded() const;
  // The checkpoint that `alias` is answered from, when a sampler has it.
  std::optional<std::string> Answering(const std::string& alias) const;

  ModelState StateOf(const std::string& directory) const;
  // By directory; those that are missing are idle.
  std::map<std::string, ModelState> States() const;
  // Why it is failed.
  std::string ProblemOf(const std::string& directory) const;
  PoolCounts Counts() const;
  // Fails waiting and running requests; for the gateway's shutdown.
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
