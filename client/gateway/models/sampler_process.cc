#include "client/gateway/models/sampler_process.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <iterator>
#include <optional>
#include <utility>

#include "base/random_id.h"
#include "contract/channel.h"
#include "contract/codec.h"
#include "daemon/child_process.h"
#include "daemon/engine_environment.h"

namespace gp::gateway {
namespace {

namespace asio = boost::asio;
using Error = boost::system::error_code;
using Socket = asio::local::stream_protocol::socket;

static_assert(link::kEngineDescriptor == daemon::kFirstChildDescriptor);

// The time that a sampler has to exit after Stop, or after its link has closed. Then it is killed.
constexpr std::chrono::milliseconds kLeaveMax{2000};
std::string ExitText(int status) {
  if (WIFSIGNALED(status)) {
    return fmt::format("the sampler was ended by signal {} ({})", WTERMSIG(status),
                       strsignal(WTERMSIG(status)));
  }
  return fmt::format("the sampler ended with status {}", WEXITSTATUS(status));
}

// The process and its sockets. Pending reads keep this object alive after its SamplerProcess is
// destroyed, until the process has been reaped.
class Child : public std::enable_shared_from_this<Child> {
 public:
  Child(http::EventLoop& loop, int pid, int link, int exit_watch, std::string incarnation,
        SamplerEvents events)
      : loop_(loop),
        pid_(pid),
        link_(loop.context(), asio::local::stream_protocol(), link),
        exit_(loop.context(), exit_watch),
        incarnation_(std::move(incarnation)),
        events_(std::make_shared<const SamplerEvents>(std::move(events))) {}

  ~Child() {
    if (!reaped_) kill(-pid_, SIGKILL);
  }

  void Begin() {
    AwaitExit();
    Read();
  }

  bool Send(const link::Message& message) {
    const std::string frame = link::EncodeFrame(message);
    if (frame.size() > link::kHeaderBytes + link::kPayloadBytesMax) return false;
    unsent_ += frame;
    Write();
    return true;
  }

  size_t unsent_bytes() const { return unsent_.size() + writing_.size(); }

  void Leave() {
    if (reaped_ || leave_timer_) return;
    leave_timer_ = loop_.After(kLeaveMax, [this] { Kill("the sampler did not exit when asked"); });
  }

  void Kill(const std::string& why) {
    if (reaped_) return;
    if (reason_.ok()) reason_ = Unavailable("{}", why);
    kill(-pid_, SIGKILL);
  }

  // Delivers no more events and kills the process.
  void Abandon() {
    events_ = std::make_shared<const SamplerEvents>();
    Kill("no longer needed");
  }

  int pid() const { return pid_; }

 private:
  void Read() {
    link_.async_read_some(asio::buffer(buffer_),
                          [self = shared_from_this()](const Error& error, size_t bytes) {
                            if (error) return self->LinkEnded();
                            self->received_.append(self->buffer_.data(), bytes);
                            if (const Status status = self->HandleFrames(); !status.ok()) {
                              self->Kill("the sampler's link: " + Message(status));
                              return self->LinkEnded();
                            }
                            self->Read();
                          });
  }

  Status HandleFrames() {
    size_t taken = 0;
    while (received_.size() - taken >= link::kHeaderBytes) {
      const std::string_view rest = std::string_view(received_).substr(taken);
      ASSIGN_OR_RETURN(const link::FrameHeader header, link::DecodeHeader(rest));
      if (rest.size() < link::kHeaderBytes + header.payload_bytes) break;
      auto message =
          link::DecodePayload(header.type, rest.substr(link::kHeaderBytes, header.payload_bytes));
      taken += link::kHeaderBytes + header.payload_bytes;
      if (message.status().code() == StatusCode::kUnimplemented) continue;
      if (!message.ok()) return message.status();
      RETURN_IF_ERROR(HandleMessage(*std::move(message)));
    }
    received_.erase(0, taken);
    return OkStatus();
  }

  Status HandleMessage(link::Message message) {
    const auto events = events_;  // a callback may call Abandon, which replaces events_
    if (const auto* hello = std::get_if<link::Hello>(&message)) {
      if (!link::IsCompatible(*hello) || hello->incarnation != incarnation_) {
        return FailedPrecondition("the sampler's version {} is incompatible with this gateway",
                                  hello->version);
      }
    } else if (const auto* ready = std::get_if<link::ModelReady>(&message)) {
      if (events->ready) events->ready(*ready);
    } else if (auto* generated = std::get_if<link::Generated>(&message)) {
      for (link::TextPiece& piece : generated->pieces) {
        if (events_ != events) break;
        if (events->piece) events->piece(std::move(piece));
      }
    } else if (const auto* failed = std::get_if<link::Failed>(&message)) {
      const bool damaged = failed->cause == contract::ExitCause::kDamagedCheckpoint;
      reason_ = damaged ? DataLoss("{}", failed->message) : Unavailable("{}", failed->message);
    }
    return OkStatus();
  }

  void LinkEnded() {
    if (std::exchange(link_ended_, true)) return;
    Error ignored;
    link_.close(ignored);
    Leave();
    TellEnd();
  }

  void AwaitExit() {
    exit_.async_wait(asio::posix::stream_descriptor::wait_read,
                     [self = shared_from_this()](const Error& error) {
                       if (!error) self->Reap();
                     });
  }

  void Reap() {
    kill(-pid_, SIGKILL);  // the rest of its process group
    while (waitpid(pid_, &exit_status_, 0) < 0 && errno == EINTR) {
    }
    reaped_ = true;
    leave_timer_.reset();
    TellEnd();
  }

  // Reports the end when the process has been reaped and its last messages have been read.
  void TellEnd() {
    if (!reaped_ || !link_ended_) return;
    const auto events = std::exchange(events_, std::make_shared<const SamplerEvents>());
    if (events->ended)
      events->ended(reason_.ok() ? Unavailable("{}", ExitText(exit_status_)) : reason_);
  }

  void Write() {
    if (writing_under_way_ || link_ended_ || unsent_.empty()) return;
    writing_under_way_ = true;
    writing_.swap(unsent_);
    asio::async_write(link_, asio::buffer(writing_),
                      [self = shared_from_this()](const Error& error, size_t) {
                        self->writing_under_way_ = false;
                        self->writing_.clear();
                        if (error) return;
                        self->Write();
                        const auto events = self->events_;
                        if (self->unsent_bytes() == 0 && events->sent) events->sent();
                      });
  }

  http::EventLoop& loop_;
  const int pid_;
  Socket link_;
  asio::posix::stream_descriptor exit_;
  const std::string incarnation_;
  std::shared_ptr<const SamplerEvents> events_;
  std::array<char, 64 << 10> buffer_;
  std::string received_;
  std::string unsent_;
  std::string writing_;
  bool writing_under_way_ = false;
  bool link_ended_ = false;
  bool reaped_ = false;
  int exit_status_ = 0;
  Status reason_;
  std::unique_ptr<http::Timer> leave_timer_;
};

class LinkedSampler : public SamplerProcess {
 public:
  explicit LinkedSampler(std::shared_ptr<Child> child) : child_(std::move(child)) {
    child_->Begin();
  }
  ~LinkedSampler() override { child_->Abandon(); }

  bool Send(const link::Message& message) override { return child_->Send(message); }
  size_t unsent_bytes() const override { return child_->unsent_bytes(); }
  void Stop() override {
    child_->Send(link::Stop{.reason = "the gateway does not need this sampler now"});
    child_->Leave();
  }
  void Kill(const std::string& why) override { child_->Kill(why); }
  int pid() const override { return child_->pid(); }

 private:
  const std::shared_ptr<Child> child_;
};

// Environment variables that a sampler needs to find the GPU and its libraries.
constexpr const char* kGpuVariables[] = {"LD_LIBRARY_PATH", "CUDA_CACHE_PATH",
                                         "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"};

// The sampler may read its checkpoint's files. Of the gateway's environment it gets only the
// variables of EngineEnvironment and those above, because others may hold keys.
daemon::ChildProgram ProgramOf(const SamplerCommand& command, const link::OpenModel& model) {
  daemon::ChildProgram program{.program = command.program,
                               .arguments = command.arguments,
                               .group = daemon::ChildGroup::kGroup,
                               .confined = true};
  program.arguments.insert(program.arguments.end(), {"--readable", model.directory});
  program.environment =
      daemon::EngineEnvironment({std::begin(kGpuVariables), std::end(kGpuVariables)});
  return program;
}

}  // namespace

StatusOr<std::unique_ptr<SamplerProcess>> SamplerProcess::Start(http::EventLoop& loop,
                                                                const SamplerCommand& command,
                                                                const link::OpenModel& model,
                                                                SamplerEvents events) {
  ASSIGN_OR_RETURN(auto ends, link::Channel::MakePair());
  daemon::ChildProgram program = ProgramOf(command, model);
  program.descriptors = {ends.second.get()};
  ASSIGN_OR_RETURN(const pid_t pid, daemon::StartChild(program));
  // Call the system call directly: glibc 2.36 declares pidfd_open without C linkage.
  FileDescriptor exit_watch(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!exit_watch.valid()) {
    const Status status = ErrnoStatus(errno, "watch sampler", command.program);
    kill(pid, SIGKILL);
    daemon::AwaitExit(pid);
    return status;
  }
  const std::string incarnation = RandomId(10);
  const auto child = std::make_shared<Child>(loop, pid, ends.first.Release(), exit_watch.Release(),
                                             incarnation, std::move(events));
  child->Send(link::Hello{.version = command.version, .incarnation = incarnation});
  child->Send(model);
  return std::make_unique<LinkedSampler>(child);
}

}  // namespace gp::gateway
