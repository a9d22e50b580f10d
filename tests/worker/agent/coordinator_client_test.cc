// CoordinatorClient with an agent service in this process.
#include "worker/agent/coordinator_client.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <functional>
#include <optional>
#include <thread>

#include "base/mailbox.h"
#include "lib/base/eventually.h"
#include "lib/base/temporary_directory.h"
#include "rpc/server.h"

namespace gp::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ServerStream = grpc::ServerReaderWriter<v1::CoordinatorMessage, v1::AgentMessage>;

// Accepts hellos with `generation`, acknowledges telemetry if configured, and records messages.
// Ends the stream after `messages_max` messages.
class FakeAgentService final : public v1::AgentService::Service {
 public:
  grpc::Status Connect(grpc::ServerContext*, ServerStream* stream) override {
    v1::AgentMessage message;
    if (!stream->Read(&message) || !message.has_hello()) return grpc::Status::CANCELLED;
    heard.Post(message, kPatience);
    v1::CoordinatorMessage answer;
    if (refusal.empty()) {
      answer.mutable_welcome()->set_coordinator_generation(generation);
      answer.mutable_welcome()->mutable_report_interval()->set_nanos(20'000'000);
      answer.mutable_welcome()->set_telemetry_window_bytes(window_bytes);
    } else {
      answer.mutable_refused()->set_reason(refusal);
    }
    stream->Write(answer);
    for (int count = 0; count < messages_max && stream->Read(&message); ++count) {
      if (message.has_telemetry()) TrackUnacknowledged(message.telemetry());
      heard.Post(message, kPatience);
      if (message.has_telemetry() && acknowledges) Acknowledge(*stream, message.telemetry());
    }
    return grpc::Status::OK;
  }

  // The next message that satisfies `wanted`; skips others. Nullopt if none comes in time; the
  // limit is for the whole wait, because reports arrive all the time.
  std::optional<v1::AgentMessage> NextThat(
      const std::function<bool(const v1::AgentMessage&)>& wanted) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (std::chrono::steady_clock::now() < deadline) {
      auto message = heard.Receive(deadline - std::chrono::steady_clock::now());
      if (message && wanted(*message)) return message;
    }
    return std::nullopt;
  }
  std::optional<v1::AgentMessage> Next(v1::AgentMessage::MessageCase kind) {
    return NextThat([kind](const auto& message) { return message.message_case() == kind; });
  }

  std::atomic<uint64_t> generation{1};
  std::atomic<bool> acknowledges{true};
  std::atomic<int> messages_max{1 << 20};
  std::atomic<uint64_t> window_bytes{0};
  std::string refusal;
  Mailbox<v1::AgentMessage> heard{1 << 16};
  std::atomic<size_t> unacknowledged_bytes_max{0};  // the maximum so far

 private:
  void TrackUnacknowledged(const v1::Telemetry& telemetry) {
    for (const v1::TelemetryItem& item : telemetry.items()) unacknowledged_ += item.ByteSizeLong();
    unacknowledged_bytes_max = std::max<size_t>(unacknowledged_bytes_max, unacknowledged_);
  }

  void Acknowledge(ServerStream& stream, const v1::Telemetry& telemetry) {
    unacknowledged_ = 0;
    v1::CoordinatorMessage answer;
    answer.mutable_telemetry_ack()->set_through_sequence(
        telemetry.first_sequence() + static_cast<uint64_t>(telemetry.items_size()) - 1);
    stream.Write(answer);
  }

  size_t unacknowledged_ = 0;
};

class CoordinatorClientTest : public testing::Test {
 protected:
  // Stands in for the agent's loop.
  void DrainInbox(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      pollfd entry{inbox_.descriptor(), POLLIN, 0};
      poll(&entry, 1, 20);
      inbox_.Drain();
    }
  }

  ~CoordinatorClientTest() override {
    if (client_) client_->Stop(seconds(0));
    if (server_) server_->Shutdown(milliseconds(100));
  }

  void StartServer() {
    auto server = rpc::RpcServer::Start({.endpoints = {{address_}}}, {&service_});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = std::move(server).value();
    address_ = server_->address();
  }
  void StartClient(std::chrono::nanoseconds turn_max = kPatience) {
    CoordinatorClientOptions options;
    options.turn_max = turn_max;
    options.address = address_;
    options.backoff = {milliseconds(10), milliseconds(50)};
    options.telemetry_interval = milliseconds(1);
    options.hello.set_node_id("node1");
    client_.emplace(std::move(options), inbox_, metrics_);
  }
  void TellLine(const std::string& text) {
    v1::TelemetryItem item;
    item.mutable_line()->set_text(text);
    client_->Tell(std::move(item));
  }

  std::string address_ = "127.0.0.1:0";
  FakeAgentService service_;
  std::unique_ptr<rpc::RpcServer> server_;
  Inbox inbox_;
  AgentMetrics metrics_{"test"};
  std::jthread drainer_{[this](const std::stop_token& stop) { DrainInbox(stop); }};
  std::optional<CoordinatorClient> client_;
};

TEST_F(CoordinatorClientTest, SaysHelloAndSendsReportsAtOnce) {
  StartServer();
  StartClient();
  const auto hello = service_.Next(v1::AgentMessage::kHello);
  ASSERT_TRUE(hello.has_value());
  EXPECT_EQ(hello->hello().node_id(), "node1");
  v1::AgentReport report;
  report.set_revision(7);
  const uint64_t number = client_->Report(report, true);
  EXPECT_TRUE(
      service_.NextThat([](const auto& message) { return message.report().revision() == 7; }));
  client_->Stop(kPatience);
  EXPECT_GE(client_->ReportedThrough(), number);
}

// The lease of its node shall expire.
TEST_F(CoordinatorClientTest, AnAgentWhoseLoopHangsGivesNoSignOfLife) {
  StartServer();
  StartClient(/*turn_max=*/std::chrono::nanoseconds(0));
  ASSERT_TRUE(service_.Next(v1::AgentMessage::kHello).has_value());
  client_->NoteTurn();
  v1::AgentReport report;
  report.set_revision(7);
  client_->Report(report, /*urgent=*/true);
  ASSERT_TRUE(service_.Next(v1::AgentMessage::kReport).has_value());
  EXPECT_FALSE(service_.heard.Receive(milliseconds(200)).has_value()) << "ten intervals";
  report.set_revision(8);
  client_->Report(report, /*urgent=*/true);
  EXPECT_EQ(service_.Next(v1::AgentMessage::kReport)->report().revision(), 8u);
}

TEST_F(CoordinatorClientTest, ALoopThatTurnsRepeatsItsReport) {
  StartServer();
  StartClient();
  client_->NoteTurn();
  client_->Report({}, /*urgent=*/true);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(service_.Next(v1::AgentMessage::kReport).has_value());
}

TEST_F(CoordinatorClientTest, ReconnectsWithItsRanksAndSendsUnacknowledgedTelemetryAgain) {
  service_.acknowledges = false;
  service_.messages_max = 8;  // the stream then ends
  StartServer();
  StartClient();
  ASSERT_TRUE(service_.Next(v1::AgentMessage::kHello));
  v1::AgentReport report;
  report.add_ranks()->set_run_id("run1");
  client_->Report(report, true);
  TellLine("kept");
  for (int time = 0; time < 2; ++time) {
    const auto telemetry = service_.Next(v1::AgentMessage::kTelemetry);
    ASSERT_TRUE(telemetry.has_value());
    EXPECT_EQ(telemetry->telemetry().first_sequence(), 1u);
    EXPECT_EQ(telemetry->telemetry().items(0).line().text(), "kept");
  }
  const auto hello = service_.Next(v1::AgentMessage::kHello);
  ASSERT_TRUE(hello.has_value());
  ASSERT_EQ(hello->hello().ranks_size(), 1);
  EXPECT_EQ(hello->hello().ranks(0).run_id(), "run1");
}

// Reports still arrive while the coordinator accepts no more telemetry.
TEST_F(CoordinatorClientTest, SendsNoMoreTelemetryThanTheCoordinatorTakes) {
  service_.acknowledges = false;
  service_.window_bytes = 2000;
  StartServer();
  StartClient();
  ASSERT_TRUE(service_.Next(v1::AgentMessage::kHello));
  for (int i = 0; i < 100; ++i) TellLine(std::string(500, 'x'));
  EXPECT_TRUE(Eventually([&] { return service_.unacknowledged_bytes_max >= 2000; }));
  service_.heard.Drain(1 << 16, seconds(0));
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(service_.Next(v1::AgentMessage::kReport));
  EXPECT_LT(service_.unacknowledged_bytes_max, 2000u + 520u) << "one line more at most";
}

TEST_F(CoordinatorClientTest, SendsEverythingWithinTheWindowAsItIsAcknowledged) {
  service_.window_bytes = 2000;
  StartServer();
  StartClient();
  for (int i = 0; i < 99; ++i) TellLine(std::string(500, 'x'));
  TellLine(std::string(10'000, 'y'));  // larger than the window
  int heard = 0;
  while (heard < 100) {
    const auto message = service_.Next(v1::AgentMessage::kTelemetry);
    ASSERT_TRUE(message.has_value()) << "after " << heard;
    heard += message->telemetry().items_size();
  }
  EXPECT_EQ(heard, 100);
}

TEST_F(CoordinatorClientTest, ConnectsToACoordinatorThatComesLater) {
  const TemporaryDirectory directory;
  address_ = "unix:" + directory.File("coordinator.sock");
  StartClient();
  TellLine("while it was away");
  StartServer();
  const auto telemetry = service_.Next(v1::AgentMessage::kTelemetry);
  ASSERT_TRUE(telemetry.has_value());
  EXPECT_EQ(telemetry->telemetry().items(0).line().text(), "while it was away");
}

TEST_F(CoordinatorClientTest, LeavesACoordinatorOfAnOlderGeneration) {
  service_.generation = 5;
  service_.messages_max = 1;  // reconnect after each report
  StartServer();
  StartClient();
  ASSERT_TRUE(service_.Next(v1::AgentMessage::kHello));
  client_->Report({}, true);
  ASSERT_TRUE(service_.Next(v1::AgentMessage::kReport));
  service_.generation = 4;
  // From here on, each connection consists only of a Hello with generation 5, without a report.
  int refused = 0;
  EXPECT_TRUE(service_.NextThat([&refused](const auto& message) {
    if (!message.has_hello()) refused = 0;
    if (message.hello().coordinator_generation_max() == 5) ++refused;
    return refused == 3;
  }));
  service_.generation = 6;
  EXPECT_TRUE(service_.Next(v1::AgentMessage::kReport).has_value());
}

TEST_F(CoordinatorClientTest, KeepsAskingACoordinatorThatRefuses) {
  service_.refusal = "protocol 9 is needed";
  StartServer();
  StartClient();
  EXPECT_TRUE(service_.Next(v1::AgentMessage::kHello));
  EXPECT_TRUE(service_.Next(v1::AgentMessage::kHello));
}

}  // namespace
}  // namespace gp::agent
