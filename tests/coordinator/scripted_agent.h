// ScriptedAgent: speaks the agent protocol as a test scripts it. Not thread-safe.
#pragma once

#include <grpcpp/client_context.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "gp/v1/agent_service.grpc.pb.h"

namespace gp::coordinator {

class ScriptedAgent {
 public:
  ScriptedAgent(const std::string& address, std::string storage_root, int slots,
                std::string node = "node-a");

  // Sends a hello with these ranks; fails the test unless the coordinator accepts it.
  void Connect(const std::vector<v1::RankStatus>& ranks = {});
  // Sends this hello unchanged and returns the first answer.
  v1::CoordinatorMessage Greet(const v1::AgentHello& hello);
  v1::AgentHello MakeHello() const;

  // Moves this many assigned ranks to RUNNING; returns their desired state.
  v1::DesiredState StartRanks(int count);

  // Reads until `wanted` returns true for a desired state, and reports that state as applied.
  // Throws if none comes within kPatience; this ends the test, because later waits would time out
  // too. AwaitAck throws likewise.
  v1::DesiredState AwaitDesired(const std::function<bool(const v1::DesiredState&)>& wanted);
  v1::TelemetryAck AwaitAck(uint64_t through);
  void Report(const std::vector<v1::RankStatus>& ranks);
  void Send(const v1::Telemetry& telemetry);
  void Close();
  // Reads until the coordinator ends the stream; returns the stream's status.
  Status AwaitEnd();
  // Number of desired states received on all streams of this agent.
  int desired_seen() const { return desired_seen_; }

  // A status that reports the assigned rank in `phase`.
  static v1::RankStatus StatusOf(const v1::Assignment& assignment, v1::RankPhase phase);
  static std::vector<v1::RankStatus> StatusesOf(const v1::DesiredState& desired,
                                                v1::RankPhase phase);
  // `count` points of epoch 1, starting at `first_step`.
  static v1::Telemetry MakePoints(const std::string& run, uint64_t first_sequence,
                                  int64_t first_step, int count);

 private:
  bool Read(v1::CoordinatorMessage& message);

  std::string address_;
  std::string storage_root_;
  int slots_;
  std::string node_;
  std::string incarnation_;
  uint64_t revision_ = 0;
  uint64_t generation_ = 0;
  int desired_seen_ = 0;
  std::unique_ptr<v1::AgentService::Stub> stub_;
  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::AgentMessage, v1::CoordinatorMessage>> stream_;
};

}  // namespace gp::coordinator
