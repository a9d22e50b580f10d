// gp-fake-trainer: speaks the link protocol like gp-trainer and takes steps that compute nothing,
// so that the control plane can be tested without the engine. It writes small checkpoint files and
// misbehaves as the run's labels request (fakes/fake_trainer_options.h). Never use it for claims
// about losses or bit-identical results.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/sha.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

#include "base/clock.h"
#include "base/file.h"
#include "base/machine/progress.h"
#include "contract/channel.h"
#include "fakes/fake_trainer_options.h"
#include "fakes/hostile_words.h"

namespace gp::fakes {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* kNcclId = "fa4e";

std::string Sha256Hex(const std::string& data) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(data.data()), data.size(), digest);
  std::string hex;
  for (const unsigned char byte : digest) hex += fmt::format("{:02x}", byte);
  return hex;
}

class FakeTrainer {
 public:
  FakeTrainer() : channel_(FileDescriptor(link::kEngineDescriptor), "agent") {}

  [[noreturn]] void Run() {
    hello_ = Await<link::Hello>();
    Say(link::Hello{.version = "fake", .incarnation = hello_.incarnation});
    start_ = Await<link::Start>();
    auto options = ParseFakeTrainerOptions(start_.resolved);
    if (!options.ok()) Fail(contract::ExitCause::kConfig, Message(options.status()), 2);
    options_ = std::move(options).value();
    if (options_.ignore_stop) signal(SIGTERM, SIG_IGN);
    step_ = start_.resume ? start_.resume->step : 0;
    Print(fmt::format("fake trainer started rank={} step={}", start_.rank, step_));
    if (!options_.hostile.empty()) SayHostileWords(options_.hostile, link::kEngineDescriptor);
    JoinGroup();
    if (options_.hang) Hang();
    while (step_ < options_.steps) RunStep();
    Finish();
  }

 private:
  void JoinGroup() {
    if (options_.silent) {
      while (true) Listen(seconds(1));
    }
    link::Listening listening{.address = OpenPort()};
    if (OnSeveralGpus() && start_.rank == 0) listening.nccl_id = kNcclId;
    Say(listening);
    const auto configure = Await<link::Configure>();
    if (OnSeveralGpus() && configure.nccl_id != kNcclId) {
      Fail(contract::ExitCause::kError, "the id of rank 0 did not get here", 1);
    }
    Say(link::Ready{.epoch = start_.epoch, .step = step_});
    Await<link::Go>();
    takes_steps_ = true;
  }

  // Its messages outlive its training.
  [[noreturn]] void Hang() {
    const int backward = static_cast<int>(progress::Phase::kBackward);
    while (true) {
      Say(link::Beat{.phase = backward, .count = 1, .longest_ms = 0});
      Listen(milliseconds(100));
    }
  }

  // On a GPU slot, the agent sets CUDA_VISIBLE_DEVICES.
  bool OnSeveralGpus() const {
    return start_.world_size > 1 && std::getenv("CUDA_VISIBLE_DEVICES") != nullptr;
  }

  std::string OpenPort() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    inet_pton(AF_INET, start_.data_address.c_str(), &address.sin_addr);
    port_ = FileDescriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (bind(port_.get(), generic, size) != 0 || listen(port_.get(), 8) != 0 ||
        getsockname(port_.get(), generic, &size) != 0) {
      Fail(contract::ExitCause::kError, "cannot listen on " + start_.data_address, 1);
    }
    return fmt::format("{}:{}", start_.data_address, ntohs(address.sin_port));
  }

  void RunStep() {
    const bool fails = step_ >= options_.fail_at_step && options_.fail_at_step >= 0 &&
                       start_.rank == options_.fail_rank &&
                       start_.epoch <= static_cast<uint64_t>(options_.fail_epochs);
    if (fails) FailAsAsked();
    Listen(milliseconds(options_.step_ms));
    ++step_;
    const double step_seconds = static_cast<double>(options_.step_ms) * 1e-3;
    Say(link::StepReport{.point = {.step = step_,
                                   .tokens = step_ * 1000,
                                   .loss = 5.5 * std::exp(-0.01 * static_cast<double>(step_)),
                                   .learning_rate = 1e-3,
                                   .gradient_norm = 1,
                                   .tokens_per_second = 1000 / std::max(step_seconds, 1e-3),
                                   .step_seconds = step_seconds,
                                   .epoch = start_.epoch,
                                   .phases = {.other = step_seconds},
                                   .at_us = SystemClock().WallNow().time_since_epoch().count()},
                         .rank = {}});
    const bool due = options_.checkpoint_every > 0 && step_ % options_.checkpoint_every == 0;
    if (due && step_ < options_.steps && start_.rank == 0) Save(false);
    if (leaves_ && step_ < options_.steps) SaveAndLeave();
  }

  [[noreturn]] void FailAsAsked() {
    const int code = static_cast<int>(options_.exit_code);
    if (options_.fail_message.empty()) Exit(code);
    Fail(code == 2 ? contract::ExitCause::kConfig : contract::ExitCause::kError,
         options_.fail_message, code);
  }

  void Save(bool final) {
    const std::string directory =
        fmt::format("{}/checkpoints/step-{:08}-e{}-{}", start_.run_directory, step_, start_.epoch,
                    hello_.incarnation);
    const std::string tensors = std::string("\2\0\0\0\0\0\0\0{}", 10);
    const std::string manifest = fmt::format("{{\"step\":{},\"fake\":true}}\n", step_);
    for (const Status& status : {MakeDirectories(directory),
                                 WriteFileAtomically(directory + "/model.safetensors", tensors),
                                 WriteFileAtomically(directory + "/optimizer.safetensors", tensors),
                                 WriteFileAtomically(directory + "/manifest.json", manifest)}) {
      if (!status.ok()) Fail(contract::ExitCause::kStorage, Message(status), 3);
    }
    Say(link::CheckpointReport{{.step = step_,
                                .directory = directory,
                                .manifest_digest = Sha256Hex(manifest),
                                .size_bytes = 2 * tensors.size() + manifest.size(),
                                .validation_loss = 1.0 + 1.0 / static_cast<double>(step_ + 1),
                                .final = final},
                               start_.epoch});
  }

  [[noreturn]] void Finish() {
    if (start_.rank == 0) Save(true);
    Say(link::Finished{.epoch = start_.epoch, .step = step_});
    AwaitSeal();
    Print("fake trainer finished");
    Exit(0);
  }

  [[noreturn]] void SaveAndLeave() {
    if (start_.rank == 0) Save(false);
    AwaitSeal();
    Leave("stopped");
  }

  void AwaitSeal() {
    while (start_.rank == 0 && !answered_.contains(step_)) {
      if (const auto message = Receive(seconds(1))) Mind(*message);
    }
  }

  [[noreturn]] void Leave(const std::string& reason) {
    Say(link::Stopped{.epoch = start_.epoch, .step = step_, .reason = reason});
    Exit(0);
  }

  // Waits for a message of type T and handles other messages meanwhile.
  template <typename T>
  T Await() {
    while (true) {
      const auto message = Receive(seconds(1));
      if (!message) continue;
      if (const T* wanted = std::get_if<T>(&*message)) return *wanted;
      Mind(*message);
    }
  }

  void Listen(std::chrono::nanoseconds duration) {
    const auto end = SystemClock().Now() + duration;
    for (auto left = duration; left.count() > 0; left = end - SystemClock().Now()) {
      if (const auto message = Receive(left)) Mind(*message);
    }
  }

  std::optional<link::Message> Receive(std::chrono::nanoseconds timeout) {
    auto message = channel_.Receive(timeout);
    if (!message.ok()) Exit(1);  // the agent is gone
    return std::move(message).value();
  }

  void Mind(const link::Message& message) {
    if (const auto* seal = std::get_if<link::SealResult>(&message)) answered_.insert(seal->step);
    if (const auto* stop = std::get_if<link::Stop>(&message)) MindStop(*stop);
  }

  void MindStop(const link::Stop& stop) {
    if (options_.ignore_stop) return;
    const bool may_save = takes_steps_ && stop.save_within_ms && !leaves_;
    if (!may_save) Leave(stop.reason);
    leaves_ = true;
  }

  void Say(const link::Message& message) {
    if (!channel_.Send(message).ok()) Exit(1);
  }

  [[noreturn]] void Fail(contract::ExitCause cause, const std::string& message, int code) {
    Say(link::Failed{cause, message});
    Exit(code);
  }

  [[noreturn]] void Exit(int code) {
    std::fflush(stderr);
    _exit(code);
  }

  void Print(const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); }

  link::Channel channel_;
  link::Hello hello_;
  link::Start start_;
  FakeTrainerOptions options_;
  FileDescriptor port_;
  int64_t step_ = 0;
  bool takes_steps_ = false;
  bool leaves_ = false;  // exit after this step
  std::set<int64_t> answered_;
};

}  // namespace
}  // namespace gp::fakes

int main() { gp::fakes::FakeTrainer().Run(); }
