#include "coordinator/scripted_agent.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "base/file.h"
#include "base/random_id.h"
#include "lib/base/eventually.h"
#include "rpc/channel.h"
#include "rpc/status.h"

namespace gp::coordinator {
namespace {

// Cancels the stream after kPatience, so that a test does not wait forever.
class Patience {
 public:
  explicit Patience(grpc::ClientContext& stream)
      : thread_([this, &stream](const std::stop_token& stop) {
          std::unique_lock lock(mutex_);
          ended_.wait_for(lock, stop, kPatience, [] { return false; });
          if (!stop.stop_requested()) stream.TryCancel();
        }) {}

 private:
  std::mutex mutex_;
  std::condition_variable_any ended_;
  std::jthread thread_;
};

}  // namespace

ScriptedAgent::ScriptedAgent(const std::string& address, std::string storage_root, int slots,
                             std::string node)
    : address_(address),
      storage_root_(std::move(storage_root)),
      slots_(slots),
      node_(std::move(node)),
      incarnation_(RandomId(10)),
      stub_(v1::AgentService::NewStub(rpc::MakeChannel(address))) {}

v1::AgentHello ScriptedAgent::MakeHello() const {
  v1::AgentHello hello;
  hello.set_protocol(1);
  hello.set_protocol_min(1);
  hello.set_version("test");
  hello.set_node_id(node_);
  hello.set_name(node_);
  hello.set_incarnation(incarnation_);
  hello.set_data_address("127.0.0.1");
  hello.set_storage_root(storage_root_);
  hello.set_storage_probe(*ReadFile(JoinPath(storage_root_, ".gp-probe")));
  hello.set_coordinator_generation_max(generation_);
  for (int i = 0; i < slots_; ++i) {
    v1::Slot& slot = *hello.add_slots();
    slot.set_slot_id("cpu" + std::to_string(i));
    slot.set_device("cpu");
    slot.add_cores(i);
  }
  return hello;
}

void ScriptedAgent::Connect(const std::vector<v1::RankStatus>& ranks) {
  v1::AgentHello hello = MakeHello();
  for (const v1::RankStatus& rank : ranks) *hello.add_ranks() = rank;
  const v1::CoordinatorMessage answer = Greet(hello);
  ASSERT_TRUE(answer.has_welcome()) << answer.DebugString();
  generation_ = answer.welcome().coordinator_generation();
}

v1::CoordinatorMessage ScriptedAgent::Greet(const v1::AgentHello& hello) {
  context_ = std::make_unique<grpc::ClientContext>();
  const Patience patience(*context_);
  context_->set_wait_for_ready(true);
  stream_ = stub_->Connect(context_.get());
  v1::AgentMessage message;
  *message.mutable_hello() = hello;
  v1::CoordinatorMessage answer;
  EXPECT_TRUE(stream_->Write(message));
  EXPECT_TRUE(Read(answer)) << "the stream ended instead of an answer to the hello";
  return answer;
}

bool ScriptedAgent::Read(v1::CoordinatorMessage& message) {
  const bool read = stream_->Read(&message);
  if (read && message.has_desired()) ++desired_seen_;
  return read;
}

v1::DesiredState ScriptedAgent::StartRanks(int count) {
  v1::DesiredState desired =
      AwaitDesired([&](const auto& candidate) { return candidate.assignments_size() == count; });
  Report(StatusesOf(desired, v1::RANK_PHASE_LISTENING));
  desired = AwaitDesired([](const auto& candidate) {
    return candidate.assignments_size() > 0 && candidate.assignments(0).has_membership();
  });
  Report(StatusesOf(desired, v1::RANK_PHASE_READY));
  desired = AwaitDesired([](const auto& candidate) {
    return candidate.assignments_size() > 0 && candidate.assignments(0).go();
  });
  Report(StatusesOf(desired, v1::RANK_PHASE_RUNNING));
  return desired;
}

v1::DesiredState ScriptedAgent::AwaitDesired(
    const std::function<bool(const v1::DesiredState&)>& wanted) {
  const Patience patience(*context_);
  v1::CoordinatorMessage message;
  v1::DesiredState last;
  while (Read(message)) {
    if (!message.has_desired()) continue;
    last = message.desired();
    revision_ = last.revision();
    if (wanted(last)) return last;
  }
  throw std::runtime_error("the desired state did not come; the last one was " +
                           last.DebugString());
}

v1::TelemetryAck ScriptedAgent::AwaitAck(uint64_t through) {
  const Patience patience(*context_);
  v1::CoordinatorMessage message;
  while (Read(message)) {
    if (message.telemetry_ack().through_sequence() >= through) return message.telemetry_ack();
  }
  throw std::runtime_error("telemetry " + std::to_string(through) + " was not acknowledged");
}

void ScriptedAgent::Report(const std::vector<v1::RankStatus>& ranks) {
  v1::AgentMessage message;
  message.mutable_report()->set_revision(revision_);
  for (const v1::RankStatus& rank : ranks) *message.mutable_report()->add_ranks() = rank;
  EXPECT_TRUE(stream_->Write(message));
}

void ScriptedAgent::Send(const v1::Telemetry& telemetry) {
  v1::AgentMessage message;
  *message.mutable_telemetry() = telemetry;
  EXPECT_TRUE(stream_->Write(message));
}

Status ScriptedAgent::AwaitEnd() {
  const Patience patience(*context_);
  v1::CoordinatorMessage message;
  while (Read(message)) {
  }
  const Status status = rpc::FromGrpc(stream_->Finish());
  stream_.reset();
  return status;
}

void ScriptedAgent::Close() {
  context_->TryCancel();
  v1::CoordinatorMessage message;
  while (Read(message)) {
  }
  stream_->Finish();
  stream_.reset();
}

v1::RankStatus ScriptedAgent::StatusOf(const v1::Assignment& assignment, v1::RankPhase phase) {
  v1::RankStatus status;
  status.set_run_id(assignment.run_id());
  status.set_epoch(assignment.epoch());
  status.set_rank(assignment.rank());
  status.set_slot_id(assignment.slot_id());
  status.set_phase(phase);
  status.set_address("127.0.0.1:" + std::to_string(4000 + assignment.rank()));
  return status;
}

std::vector<v1::RankStatus> ScriptedAgent::StatusesOf(const v1::DesiredState& desired,
                                                      v1::RankPhase phase) {
  std::vector<v1::RankStatus> ranks;
  for (const v1::Assignment& assignment : desired.assignments()) {
    ranks.push_back(StatusOf(assignment, phase));
  }
  return ranks;
}

v1::Telemetry ScriptedAgent::MakePoints(const std::string& run, uint64_t first_sequence,
                                        int64_t first_step, int count) {
  v1::Telemetry telemetry;
  telemetry.set_first_sequence(first_sequence);
  for (int i = 0; i < count; ++i) {
    v1::TelemetryItem& item = *telemetry.add_items();
    item.set_run_id(run);
    item.mutable_point()->set_step(first_step + i);
    item.mutable_point()->set_epoch(1);
    item.mutable_point()->set_loss(5.5 - 0.1 * i);
  }
  return telemetry;
}

}  // namespace gp::coordinator
