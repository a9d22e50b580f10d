// Submits runs from several threads, each over its own open channel, like programs that stay
// connected. Prints the time in seconds as JSON.
//
//     submit_rate ADDRESS RUN_FILE THREADS COUNT [CA TOKEN_FILE]
//
// COUNT: runs in all. Without CA and TOKEN_FILE the connection is plain TCP.

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "base/secret_file.h"
#include "client/api/run_client.h"

namespace gp {
namespace {

struct Job {
  client::RunClientOptions options;
  std::string source;
  int count = 0;
};

[[noreturn]] void Fail(const Status& status) {
  fmt::print(stderr, "submit_rate: {}\n", Message(status));
  std::exit(1);
}

template <typename T>
T ValueOf(StatusOr<T> value) {
  if (!value.ok()) Fail(value.status());
  return *std::move(value);
}

// The first call connects and is not counted.
std::unique_ptr<client::RunClient> Connected(const Job& job, client::Interruption& interruption) {
  auto client = std::make_unique<client::RunClient>(job.options, interruption);
  ValueOf(client->Version());
  return client;
}

void Submit(client::RunClient& client, const Job& job) {
  for (int i = 0; i < job.count; ++i) {
    v1::SubmitRequest request;
    request.set_source(job.source);
    request.set_source_name("run.yaml");
    ValueOf(client.Submit(request));
  }
}

double SecondsOf(const Job& job, int threads) {
  client::Interruption interruption;
  std::vector<std::unique_ptr<client::RunClient>> clients;
  for (int i = 0; i < threads; ++i) clients.push_back(Connected(job, interruption));
  const auto begin = std::chrono::steady_clock::now();
  {
    std::vector<std::jthread> running;
    for (auto& client : clients) running.emplace_back([&] { Submit(*client, job); });
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

int Run(const std::vector<std::string>& arguments) {
  const int threads = std::stoi(arguments[2]);
  Job job{.options = {.address = arguments[0]},
          .source = ValueOf(ReadFile(arguments[1])),
          .count = std::stoi(arguments[3]) / threads};
  if (arguments.size() == 6) {
    job.options.tls = rpc::ChannelTls{.ca = arguments[4]};
    std::string token = ValueOf(ReadSecretFile(arguments[5]));
    token.erase(token.find_last_not_of('\n') + 1);
    job.options.credentials.token = std::move(token);
  }
  fmt::print("{{\"seconds\": {}, \"count\": {}}}\n", SecondsOf(job, threads), job.count * threads);
  return 0;
}

}  // namespace
}  // namespace gp

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() != 4 && arguments.size() != 6) {
    fmt::print(stderr, "usage: submit_rate ADDRESS RUN_FILE THREADS COUNT [CA TOKEN_FILE]\n");
    return 2;
  }
  return gp::Run(arguments);
}
