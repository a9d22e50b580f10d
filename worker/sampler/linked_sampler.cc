#include "worker/sampler/linked_sampler.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <optional>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <variant>

#include "base/exit_code.h"
#include "base/log.h"
#include "base/mailbox.h"
#include "contract/channel.h"
#include "formats/recorded_precision.h"
#include "worker/sampler/sampler_model.h"
#include "worker/sampler/text_writer.h"

namespace gp::engine {
namespace {

// The most requests that wait here. Beyond it, the supervisor has to wait when it sends.
constexpr size_t kInboxCapacity = 1024;
constexpr std::chrono::seconds kLong{3600};
// An idle sampler that gets a request waits this long for others that were sent with it, so that
// one pass reads their prompts together.
constexpr std::chrono::milliseconds kGatherTime{1};

// The cause that is sent for a checkpoint that cannot be opened.
contract::ExitCause CauseOf(const Status& status) {
  switch (status.code()) {
    case StatusCode::kDataLoss:
      return contract::ExitCause::kDamagedCheckpoint;
    case StatusCode::kResourceExhausted:
      return contract::ExitCause::kOutOfMemory;
    case StatusCode::kNotFound:
    case StatusCode::kPermissionDenied:
      return contract::ExitCause::kStorage;
    case StatusCode::kInvalidArgument:
    case StatusCode::kFailedPrecondition:
      return contract::ExitCause::kConfig;
    default:
      return contract::ExitCause::kError;
  }
}

class LinkedSampler {
 public:
  LinkedSampler(FileDescriptor socket, const std::string& program)
      : channel_(std::move(socket), "supervisor of " + program),
        inbox_(kInboxCapacity),
        reader_([this] { Read(); }) {}

  ~LinkedSampler() {
    closing_ = true;
    inbox_.Close();
    channel_.Shutdown();
  }

  ExitCode Serve() {
    auto open = AwaitOpen();
    if (!open) return ExitCode::kOk;
    auto model = Open(*open);
    if (!model.ok()) {
      Send(link::Failed{CauseOf(model.status()), Message(model.status())});
      return ExitCodeOf(model.status());
    }
    TextWriter writer(model->decoder(), model->tokenizer(), model->prompt_rows());
    Send(Describe(*model, writer));
    while (TakeMessages(writer)) {
      link::Generated generated = writer.Advance();
      if (!generated.pieces.empty()) Send(std::move(generated));
    }
    return ExitCode::kOk;
  }

  void Send(const link::Message& message) {
    // If the supervisor is gone, the reading thread usually ends the process first.
    if (const Status sent = channel_.Send(message); !sent.ok()) {
      LogWarning("the gateway does not read messages", {{"reason", gp::Message(sent)}});
      _exit(ProcessStatus(ExitCode::kFailure));
    }
  }

 private:
  // Runs on the reading thread: queues the messages in order. The end of the link ends the process.
  void Read() {
    while (true) {
      auto received = channel_.Receive(kLong);
      if (closing_) return;
      if (!received.ok()) _exit(ProcessStatus(ExitCode::kOk));
      if (*received && !inbox_.Post(*std::move(*received), kLong)) return;
    }
  }

  static void CheckProtocol(const link::Hello& hello) {
    if (link::IsCompatible(hello)) return;
    throw std::runtime_error(
        fmt::format("the supervisor (version {}) supports protocols {} to {}, this sampler "
                    "(version {}) {} to {}; install matching versions",
                    hello.version, hello.protocol_min, hello.protocol, GP_VERSION,
                    link::kProtocolMin, link::kProtocol));
  }

  // Answers Hello; nullopt if the supervisor sends Stop first. Throws if the supervisor speaks
  // another protocol.
  std::optional<link::OpenModel> AwaitOpen() {
    while (true) {
      const auto message = inbox_.Receive(kLong);
      if (!message) continue;
      if (const auto* hello = std::get_if<link::Hello>(&*message)) {
        Send(link::Hello{.version = GP_VERSION, .incarnation = hello->incarnation});
        CheckProtocol(*hello);
      } else if (const auto* open = std::get_if<link::OpenModel>(&*message)) {
        return *open;
      } else if (std::holds_alternative<link::Stop>(*message)) {
        return std::nullopt;
      }
    }
  }

  static StatusOr<SamplerModel> Open(const link::OpenModel& open) {
    ASSIGN_OR_RETURN(const auto precision, formats::ParseInferencePrecision(open.precision));
    return SamplerModel::Open(open.directory, {.threads = std::max(open.threads, 1),
                                               .slots = std::max<int64_t>(open.streams, 1),
                                               .memory_bytes = open.memory_bytes,
                                               .precision = precision});
  }

  static link::ModelReady Describe(SamplerModel& model, const TextWriter& writer) {
    return {.step = model.manifest().step,
            .precision = formats::PrecisionText(model.precision()),
            .device = model.backend().name(),
            .streams = model.decoder().slots(),
            .context = model.decoder().length_max(),
            .vocabulary = writer.drawable(),
            .memory_bytes = model.memory_bytes(),
            .reproducible = model.reproducible()};
  }

  // Handles messages that have arrived; waits for one if there is no text to write. False after
  // Stop.
  bool TakeMessages(TextWriter& writer) {
    while (true) {
      const bool idle = writer.idle();
      auto message =
          inbox_.Receive(idle ? std::chrono::nanoseconds(kLong) : std::chrono::nanoseconds(0));
      if (!message && !idle) return true;
      if (!message) continue;
      if (std::holds_alternative<link::Stop>(*message)) return false;
      if (const auto* request = std::get_if<link::Generate>(&*message)) writer.Add(*request);
      if (const auto* left = std::get_if<link::Withdraw>(&*message)) writer.Withdraw(left->request);
      if (idle && !writer.idle()) std::this_thread::sleep_for(kGatherTime);
    }
  }

  link::Channel channel_;
  Mailbox<link::Message> inbox_;
  std::atomic<bool> closing_ = false;
  std::jthread reader_;
};

}  // namespace

int RunLinkedSampler(FileDescriptor link, const std::string& program) {
  LinkedSampler sampler(std::move(link), program);
  try {
    return ProcessStatus(sampler.Serve());
  } catch (const std::bad_alloc&) {
    sampler.Send(link::Failed{contract::ExitCause::kOutOfMemory, "out of memory"});
  } catch (const std::exception& error) {
    sampler.Send(link::Failed{contract::ExitCause::kError, error.what()});
  }
  return ProcessStatus(ExitCode::kFailure);
}

}  // namespace gp::engine
