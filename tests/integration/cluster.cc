#include "integration/cluster.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/random_id.h"
#include "base/status.h"
#include "lib/rpc/connected_channel.h"
#include "rpc/listen_address.h"

namespace gp::testing {
namespace {

using std::chrono::seconds;

constexpr size_t kLogBytesShown = 8000;

std::string Program(const std::string& name) {
  const char* directory = std::getenv("GP_BIN");
  return JoinPath(directory == nullptr ? "." : directory, name);
}

void SetDeadline(grpc::ClientContext& context) {
  context.set_deadline(std::chrono::system_clock::now() + kPatience);
}

// The text of http://ADDRESS/metrics; empty if nobody answers.
std::string Scrape(const std::string& address_text) {
  const auto listen = rpc::ParseListenAddress(address_text);
  if (!listen.ok()) return "";
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(listen->port));
  inet_pton(AF_INET, listen->host.c_str(), &address.sin_addr);
  FileDescriptor connection(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (connect(connection.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    return "";
  }
  const Status sent = WriteAll(connection.get(), "GET /metrics HTTP/1.0\r\n\r\n", "metrics");
  std::string answer;
  char buffer[4096];
  for (ssize_t got = 1; sent.ok() && got > 0;) {
    got = read(connection.get(), buffer, sizeof buffer);
    if (got > 0) answer.append(buffer, static_cast<size_t>(got));
  }
  return answer;
}

// Reads all messages of a stream until it ends.
template <typename Message>
std::vector<Message> ReadAll(std::unique_ptr<grpc::ClientReader<Message>> reader) {
  std::vector<Message> messages;
  Message message;
  while (reader->Read(&message)) messages.push_back(message);
  const grpc::Status status = reader->Finish();
  EXPECT_TRUE(status.ok()) << status.error_message();
  return messages;
}

std::string WriteConfig(const std::string& path, const std::string& text) {
  const Status status = WriteFileAtomically(path, "apiVersion: gp/v1\n" + text);
  EXPECT_TRUE(status.ok()) << status;
  return path;
}

// The contents of an address file once it exists; empty if the process ended first.
nlohmann::json AwaitAddresses(const std::string& path, Process& process) {
  Eventually([&] { return FileExists(path) || !process.Running(); });
  const auto content = ReadFile(path);
  if (!content.ok()) return nlohmann::json::object();
  return nlohmann::json::parse(*content);
}

std::string AwaitAddress(const std::string& path, Process& process) {
  return AwaitAddresses(path, process).value("address", "");
}

}  // namespace

bool IsTerminal(v1::RunState state) {
  return state == v1::RUN_STATE_SUCCEEDED || state == v1::RUN_STATE_FAILED ||
         state == v1::RUN_STATE_CANCELLED;
}

Cluster::Cluster(ClusterOptions options)
    : options_(std::move(options)), directory_(::testing::TempDir() + "gp-" + RandomId(8)) {
  storage_root_ =
      options_.storage_root.empty() ? JoinPath(directory_, "storage") : options_.storage_root;
  std::filesystem::create_directories(directory_);
  std::filesystem::create_directories(storage_root_);
}

Cluster::~Cluster() {
  workers_.clear();
  coordinator_.reset();
  if (::testing::Test::HasFailure()) PrintLogs();
  std::filesystem::remove_all(directory_);
}

void Cluster::PrintLogs() const {
  for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
    if (entry.path().extension() != ".log") continue;
    std::string text = ReadFile(entry.path()).value_or("");
    if (text.size() > kLogBytesShown) text = "…" + text.substr(text.size() - kLogBytesShown);
    std::cout << "---- " << entry.path().filename() << "\n" << text;
  }
}

void Cluster::StartCoordinator(const std::vector<std::string>& environment) {
  const std::string address_file = JoinPath(directory_, "coordinator.json");
  std::filesystem::remove(address_file);
  coordinator_.reset();
  const std::string state_dir = options_.coordinator_state.empty()
                                    ? JoinPath(directory_, "coordinator")
                                    : options_.coordinator_state;
  std::vector<std::string> arguments = {
      Program("gp-coordinator"), "--state-dir", state_dir,        "--storage-root", storage_root_,
      "--metrics-listen",        "127.0.0.1:0", "--address-file", address_file};
  if (!options_.coordinator_config.empty()) {
    arguments.insert(arguments.end(),
                     {"--config", WriteConfig(JoinPath(directory_, "coordinator.yaml"),
                                              options_.coordinator_config)});
  }
  if (!options_.listen.empty()) {
    arguments.insert(arguments.end(), {"--listen", listen_.empty() ? options_.listen : listen_});
  }
  coordinator_ =
      std::make_unique<Process>(arguments, environment, JoinPath(directory_, "coordinator.log"));
  const nlohmann::json addresses = AwaitAddresses(address_file, *coordinator_);
  if (addresses.empty()) return;  // a failpoint may have killed the coordinator
  address_ = addresses.value("address", "");
  listen_ = addresses.value("listen", "");
  Connect();
}

void Cluster::Connect() { stub_ = v1::RunService::NewStub(rpc::ConnectedChannel(address_)); }

void Cluster::LaunchWorker(const std::string& name, const WorkerSetup& setup) {
  workers_.erase(name);
  std::filesystem::remove(JoinPath(directory_, name + ".json"));
  std::vector<std::string> arguments = {
      Program("gp-worker"),
      "--coordinator",
      setup.coordinator.empty() ? address_ : setup.coordinator,
      "--state-dir",
      JoinPath(directory_, name),
      "--storage-root",
      setup.storage_root.empty() ? storage_root_ : setup.storage_root,
      "--name",
      name,
      "--slots",
      std::to_string(setup.slots),
      "--metrics-listen",
      "127.0.0.1:0",
      "--address-file",
      JoinPath(directory_, name + ".json")};
  if (!options_.trainer.empty()) {
    arguments.insert(arguments.end(), {"--trainer", options_.trainer});
  }
  if (!setup.join_token.empty()) {
    const std::string file = JoinPath(directory_, name + ".token");
    EXPECT_TRUE(WriteFileAtomically(file, setup.join_token + "\n", 0600).ok());
    arguments.insert(arguments.end(), {"--join-token-file", file});
  }
  if (!setup.gpus) arguments.insert(arguments.end(), {"--gpus", "none"});
  if (!setup.config.empty()) {
    arguments.insert(arguments.end(),
                     {"--config", WriteConfig(JoinPath(directory_, name + ".yaml"), setup.config)});
  }
  workers_[name] =
      std::make_unique<Process>(arguments, setup.environment, JoinPath(directory_, name + ".log"));
}

void Cluster::StartWorker(const std::string& name, const WorkerSetup& setup) {
  LaunchWorker(name, setup);
  const std::string address = AwaitAddress(JoinPath(directory_, name + ".json"), worker(name));
  EXPECT_FALSE(address.empty()) << "worker " << name << " was not accepted";
}

std::string Cluster::Metrics(const std::string& name) const {
  const auto content = ReadFile(JoinPath(directory_, name + ".json"));
  return content.ok() ? Scrape(nlohmann::json::parse(*content).value("metrics", "")) : "";
}

std::string Cluster::Submit(const std::string& run_file, const std::string& request_id) {
  v1::SubmitRequest request;
  request.set_request_id(request_id.empty() ? RandomId(16) : request_id);
  request.set_source(run_file);
  request.set_source_name("test.yaml");
  request.set_base_directory(directory_);
  grpc::ClientContext context;
  SetDeadline(context);
  v1::SubmitResponse response;
  const grpc::Status status = stub_->Submit(&context, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response.run().run_id();
}

v1::Run Cluster::Get(const std::string& run) {
  v1::GetRequest request;
  request.set_run(run);
  grpc::ClientContext context;
  SetDeadline(context);
  v1::Run response;
  // If the coordinator does not answer, the response stays empty.
  stub_->Get(&context, request, &response);
  return response;
}

v1::Run Cluster::Cancel(const std::string& run, bool now) {
  v1::CancelRequest request;
  request.set_request_id(RandomId(16));
  request.set_run(run);
  request.set_now(now);
  grpc::ClientContext context;
  SetDeadline(context);
  v1::Run response;
  const grpc::Status status = stub_->Cancel(&context, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response;
}

std::vector<v1::RunEvent> Cluster::Events(const std::string& run) {
  v1::EventsRequest request;
  request.set_run(run);
  grpc::ClientContext context;
  SetDeadline(context);
  return ReadAll(stub_->Events(&context, request));
}

std::vector<v1::MetricPoint> Cluster::Points(const std::string& run) {
  v1::MetricsRequest request;
  request.set_run(run);
  request.set_after_step(-1);
  grpc::ClientContext context;
  SetDeadline(context);
  return ReadAll(stub_->Metrics(&context, request));
}

std::vector<v1::LogLine> Cluster::Lines(const std::string& run) {
  v1::LogsRequest request;
  request.set_run(run);
  request.set_rank(-1);
  grpc::ClientContext context;
  SetDeadline(context);
  return ReadAll(stub_->Logs(&context, request));
}

std::vector<v1::Checkpoint> Cluster::Checkpoints(const std::string& run) {
  v1::CheckpointsRequest request;
  request.set_run(run);
  grpc::ClientContext context;
  SetDeadline(context);
  v1::CheckpointsResponse response;
  const grpc::Status status = stub_->Checkpoints(&context, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return {response.checkpoints().begin(), response.checkpoints().end()};
}

std::vector<v1::Node> Cluster::Nodes() {
  grpc::ClientContext context;
  SetDeadline(context);
  v1::NodesResponse response;
  const grpc::Status status = stub_->Nodes(&context, {}, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return {response.nodes().begin(), response.nodes().end()};
}

v1::Run Cluster::WaitFor(const std::string& run,
                         const std::function<bool(const v1::Run&)>& condition, seconds timeout) {
  v1::Run now;
  EXPECT_FALSE(run.empty()) << "there is no run to wait for";
  if (run.empty()) return now;
  const bool held = Eventually(
      [&] {
        now = Get(run);
        return now.run_id() != "" && condition(now);
      },
      timeout);
  EXPECT_TRUE(held) << "run " << run << " stayed " << v1::RunState_Name(now.state()) << " at step "
                    << now.progress().step() << ": " << now.reason();
  return now;
}

v1::Run Cluster::WaitForState(const std::string& run, v1::RunState state) {
  return WaitFor(
      run, [state](const v1::Run& now) { return now.state() == state || IsTerminal(now.state()); });
}

v1::Run Cluster::WaitForStep(const std::string& run, int64_t step) {
  return WaitFor(run, [step](const v1::Run& now) {
    return now.progress().step() >= step || IsTerminal(now.state());
  });
}

v1::Run Cluster::WaitForEnd(const std::string& run) {
  return WaitFor(run, [](const v1::Run& now) { return IsTerminal(now.state()); });
}

bool Cluster::KeptItsLastStep(const std::string& run) {
  return Eventually([&] {
    const v1::Run now = Get(run);
    return now.run_id() != "" && now.latest_checkpoint_step() == now.progress().step();
  });
}

std::string FakeRun(int workers, int steps, const std::string& labels, const std::string& more) {
  return fmt::format(
      "apiVersion: gp/v1\n"
      "name: fake\n"
      "data: {{text: [text.txt], tokenizer: bytes}}\n"
      "resources: {{workers: {}}}\n"
      "budget: {{steps: {}}}\n"
      "retries: {{max: 20, backoff: 50ms, backoff_max: 500ms}}\n"
      "labels: {{{}}}\n{}",
      workers, steps, labels, more);
}

}  // namespace gp::testing
