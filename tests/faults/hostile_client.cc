// gp-hostile-client ADDRESS RUN SECONDS SEED
// Attacks a coordinator in many ways at once and prints how often each attack got which answer. A
// separate program with the lowest priority, because it stands for other machines: its cost must
// not count as the coordinator's.
#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/random_id.h"
#include "gp/v1/run_service.grpc.pb.h"
#include "lib/rpc/connected_channel.h"

namespace gp {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr seconds kCallDeadline{5};
constexpr size_t kMegabyte = 1 << 20;

struct Target {
  std::string address;
  std::string run;  // a run that has records to read
  steady_clock::time_point until;

  bool Lasts() const { return steady_clock::now() < until; }
  std::unique_ptr<v1::RunService::Stub> Connect() const {
    return v1::RunService::NewStub(
        rpc::ConnectedChannel(address, {.message_bytes_max = 64 * static_cast<int>(kMegabyte)}));
  }
};

// Counts the answers to each attack.
class Tally {
 public:
  void Count(const std::string& attack, const grpc::Status& status) {
    MutexLock lock(mutex_);
    const std::string answer =
        status.ok() ? "OK" : fmt::format("{}", static_cast<int>(status.error_code()));
    ++counts_[attack][answer];
    if (!status.ok()) words_[attack + " " + answer] = status.error_message().substr(0, 160);
  }
  void Print() {
    MutexLock lock(mutex_);
    for (const auto& [attack, answers] : counts_) {
      for (const auto& [answer, count] : answers) {
        fmt::print("{:<22} {:>3} {:>8}  {}\n", attack, answer, count,
                   words_[attack + " " + answer]);
      }
    }
  }

 private:
  Mutex mutex_;
  std::map<std::string, std::map<std::string, int>> counts_ GUARDED_BY(mutex_);
  std::map<std::string, std::string> words_ GUARDED_BY(mutex_);
};

using Random = std::mt19937_64;

std::unique_ptr<grpc::ClientContext> NewContext() {
  auto context = std::make_unique<grpc::ClientContext>();
  context->set_deadline(std::chrono::system_clock::now() + kCallDeadline);
  return context;
}

constexpr const char* kGoodRun =
    "apiVersion: gp/v1\n"
    "name: hostile\n"
    "data: {text: [text.txt], tokenizer: bytes}\n"
    "resources: {workers: 1000}\n"
    "budget: {steps: 10}\n";

v1::SubmitRequest NewSubmit(bool dry_run) {
  v1::SubmitRequest request;
  request.set_request_id(RandomId(16));
  request.set_source(kGoodRun);
  request.set_dry_run(dry_run);
  return request;
}

grpc::Status Submit(v1::RunService::Stub& stub, const v1::SubmitRequest& request) {
  v1::SubmitResponse response;
  return stub.Submit(NewContext().get(), request, &response);
}

using Attack = std::function<grpc::Status(v1::RunService::Stub&, const Target&, Random&)>;

grpc::Status UnknownOverrides(v1::RunService::Stub& stub, const Target&, Random& random) {
  v1::SubmitRequest request = NewSubmit(true);
  // Either the number of overrides that is accepted, or far more.
  const int count = random() % 2 == 0 ? 256 : 6000;
  for (int i = 0; i < count; ++i) request.add_overrides(fmt::format("optimiser.lr{}=1", i));
  return Submit(stub, request);
}

grpc::Status UnknownKeys(v1::RunService::Stub& stub, const Target&, Random& random) {
  v1::SubmitRequest request = NewSubmit(true);
  std::string source = kGoodRun;
  while (source.size() < kMegabyte - 100) source += fmt::format("nmae{}: x\n", random() % 100000);
  request.set_source(source);
  return Submit(stub, request);
}

grpc::Status OneLongLine(v1::RunService::Stub& stub, const Target&, Random& random) {
  v1::SubmitRequest request = NewSubmit(true);
  std::string source = "{apiVersion: gp/v1";
  while (source.size() < kMegabyte - 100) source += fmt::format(", k{}: 1", random() % 100000);
  request.set_source(source + "}\n");
  return Submit(stub, request);
}

grpc::Status DeepNesting(v1::RunService::Stub& stub, const Target&, Random&) {
  v1::SubmitRequest request = NewSubmit(true);
  request.set_source("model: " + std::string(kMegabyte / 2, '[') + "\n");
  return Submit(stub, request);
}

grpc::Status HugeRequest(v1::RunService::Stub& stub, const Target&, Random& random) {
  v1::SubmitRequest request = NewSubmit(true);
  if (random() % 2 == 0) {
    request.set_source(std::string(16 * kMegabyte - 1000, '#'));
  } else {
    for (size_t i = 0; i < 4 * kMegabyte; ++i) request.add_overrides("a");
  }
  return Submit(stub, request);
}

grpc::Status GoodSubmit(v1::RunService::Stub& stub, const Target&, Random&) {
  return Submit(stub, NewSubmit(false));
}

grpc::Status LongGoodSubmit(v1::RunService::Stub& stub, const Target&, Random& random) {
  v1::SubmitRequest request = NewSubmit(false);
  request.set_source(kGoodRun + std::string(kMegabyte - 1000, '#'));
  const grpc::Status status = Submit(stub, request);
  if (!status.ok() || random() % 2 == 0) return status;
  v1::CancelRequest cancel;
  cancel.set_run("@last");
  v1::Run run;
  return stub.Cancel(NewContext().get(), cancel, &run);
}

grpc::Status BadSubmit(v1::RunService::Stub& stub, const Target&, Random& random) {
  v1::SubmitRequest request = NewSubmit(false);
  std::string source(1 + random() % 5000, ' ');
  for (char& c : source) c = static_cast<char>(random() % 128);
  request.set_source(source);
  return Submit(stub, request);
}

grpc::Status GarbageList(v1::RunService::Stub& stub, const Target&, Random& random) {
  v1::ListRequest request;
  request.set_limit(1 << 30);
  request.set_include_finished(true);
  if (random() % 2 == 0) request.set_page_token(RandomId(1 + random() % 100));
  for (uint64_t i = random() % 3; i > 0; --i) {
    request.add_states(static_cast<v1::RunState>(random() % 20));
  }
  for (uint64_t i = random() % 200; i > 0; --i) {
    (*request.mutable_labels())[RandomId(1 + random() % 20)] = "x";
  }
  if (random() % 2 == 0) request.set_search(std::string(random() % (64 << 10), '%'));
  v1::ListResponse response;
  return stub.List(NewContext().get(), request, &response);
}

grpc::Status GarbageGet(v1::RunService::Stub& stub, const Target&, Random& random) {
  v1::GetRequest request;
  request.set_run(std::string(random() % (64 << 10), '@'));
  v1::Run response;
  return stub.Get(NewContext().get(), request, &response);
}

// Opens many streams at once; reads a few messages from each, or none.
grpc::Status Streams(v1::RunService::Stub& stub, const Target& target, int count, int reads) {
  struct Open {
    std::unique_ptr<grpc::ClientContext> context;
    std::unique_ptr<grpc::ClientReader<v1::WatchResponse>> watch;
    std::unique_ptr<grpc::ClientReader<v1::LogLine>> logs;
    std::unique_ptr<grpc::ClientReader<v1::MetricPoint>> metrics;
  };
  v1::WatchRequest watch;
  watch.set_run(target.run);
  v1::LogsRequest logs;
  logs.set_run(target.run);
  logs.set_rank(-1);
  logs.set_follow(true);
  v1::MetricsRequest metrics;
  metrics.set_run(target.run);
  metrics.set_after_step(-1);
  metrics.set_follow(true);
  std::vector<Open> all;
  for (int i = 0; i < count; ++i) {
    Open open{NewContext(), nullptr, nullptr, nullptr};
    if (i % 3 == 0) open.watch = stub.Watch(open.context.get(), watch);
    if (i % 3 == 1) open.logs = stub.Logs(open.context.get(), logs);
    if (i % 3 == 2) open.metrics = stub.Metrics(open.context.get(), metrics);
    all.push_back(std::move(open));
  }
  v1::WatchResponse run;
  v1::LogLine line;
  v1::MetricPoint point;
  for (int read = 0; read < reads; ++read) {
    for (const Open& open : all) {
      if (open.watch) open.watch->Read(&run);
      if (open.logs) open.logs->Read(&line);
      if (open.metrics) open.metrics->Read(&point);
    }
  }
  // Clients that never read keep their streams open as long as allowed.
  while (reads == 0 && target.Lasts() &&
         std::chrono::system_clock::now() < all.front().context->deadline()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  grpc::Status last;
  for (const Open& open : all) {
    open.context->TryCancel();
    if (open.watch) last = open.watch->Finish();
    if (open.logs) last = open.logs->Finish();
    if (open.metrics) last = open.metrics->Finish();
  }
  return last;
}

grpc::Status ManyStreams(v1::RunService::Stub& stub, const Target& target, Random& random) {
  return Streams(stub, target, 150, static_cast<int>(1 + random() % 20));
}

grpc::Status StreamsNobodyReads(v1::RunService::Stub& stub, const Target& target, Random&) {
  return Streams(stub, target, 300, 0);
}

// Cancels before the answer arrives.
grpc::Status HastyClient(v1::RunService::Stub& stub, const Target&, Random& random) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::microseconds(random() % 3000));
  v1::SubmitResponse response;
  return stub.Submit(&context, NewSubmit(true), &response);
}

struct Front {
  std::string name;
  Attack attack;
  int threads;
};

const std::vector<Front>& Fronts() {
  static const std::vector<Front> fronts = {
      {"unknown overrides", UnknownOverrides, 4}, {"unknown keys", UnknownKeys, 2},
      {"one long line", OneLongLine, 2},          {"deep nesting", DeepNesting, 1},
      {"16 MiB request", HugeRequest, 3},         {"good submit", GoodSubmit, 4},
      {"long good submit", LongGoodSubmit, 1},    {"bad submit", BadSubmit, 2},
      {"garbage list", GarbageList, 2},           {"garbage get", GarbageGet, 2},
      {"many streams", ManyStreams, 2},           {"streams nobody reads", StreamsNobodyReads, 2},
      {"hasty client", HastyClient, 2},
  };
  return fronts;
}

// Repeats the attack, sometimes on a new connection.
void Fight(const Front& front, const Target& target, uint64_t seed, Tally& tally) {
  Random random(seed);
  auto stub = target.Connect();
  while (target.Lasts()) {
    if (random() % 50 == 0) stub = target.Connect();
    tally.Count(front.name, front.attack(*stub, target, random));
  }
}

int Main(const std::vector<std::string>& arguments) {
  if (arguments.size() < 4 || arguments.size() > 5) {
    fmt::print(stderr, "usage: gp-hostile-client ADDRESS RUN SECONDS SEED [ATTACK]\n");
    return 2;
  }
  setpriority(PRIO_PROCESS, 0, 19);
  const Target target{arguments[0], arguments[1],
                      steady_clock::now() + seconds(std::stoi(arguments[2]))};
  const uint64_t seed = std::stoull(arguments[3]);
  const std::string only = arguments.size() == 5 ? arguments[4] : "";
  Tally tally;
  {
    std::vector<std::jthread> threads;
    for (const Front& front : Fronts()) {
      if (!only.empty() && only != front.name) continue;
      for (int i = 0; i < front.threads; ++i) {
        threads.emplace_back(
            [&, number = threads.size()] { Fight(front, target, seed * 1000 + number, tally); });
      }
    }
  }
  tally.Print();
  return 0;
}

}  // namespace
}  // namespace gp

int main(int argc, char** argv) { return gp::Main({argv + 1, argv + argc}); }
