#include "bench/peer_bench/sampler_process.h"

#include <chrono>
#include <csignal>
#include <utility>
#include <variant>

#include "daemon/child_process.h"

namespace gp::engine {
namespace {

using LinkClock = std::chrono::steady_clock;

constexpr std::chrono::seconds kSamplerSilenceMax(120);

double SecondsSince(LinkClock::time_point begin) {
  return std::chrono::duration<double>(LinkClock::now() - begin).count();
}

}  // namespace

StatusOr<std::unique_ptr<SamplerProcess>> SamplerProcess::Start(const std::string& program,
                                                                const link::OpenModel& model) {
  ASSIGN_OR_RETURN(auto ends, link::Channel::MakePair());
  ASSIGN_OR_RETURN(const pid_t pid, daemon::StartChild({.program = program,
                                                        .arguments = {"--link"},
                                                        .descriptors = {ends.second.get()},
                                                        .confined = true}));
  ends.second.Close();
  std::unique_ptr<SamplerProcess> process(new SamplerProcess(pid, std::move(ends.first)));
  RETURN_IF_ERROR(process->Greet(model));
  return process;
}

SamplerProcess::SamplerProcess(pid_t pid, FileDescriptor socket)
    : pid_(pid), channel_(std::move(socket), "gp-sampler") {}

SamplerProcess::~SamplerProcess() {
  kill(pid_, SIGKILL);
  daemon::AwaitExit(pid_);
}

StatusOr<link::Message> SamplerProcess::Receive() {
  ASSIGN_OR_RETURN(std::optional<link::Message> message, channel_.Receive(kSamplerSilenceMax));
  if (!message)
    return DeadlineExceeded("gp-sampler said nothing for {} s", kSamplerSilenceMax.count());
  if (const auto* failed = std::get_if<link::Failed>(&*message)) {
    return Unavailable("gp-sampler: {}", failed->message);
  }
  return std::move(*message);
}

Status SamplerProcess::Greet(const link::OpenModel& model) {
  RETURN_IF_ERROR(channel_.Send(link::Hello{.incarnation = "bench"}));
  RETURN_IF_ERROR(Receive().status());
  RETURN_IF_ERROR(channel_.Send(model));
  ASSIGN_OR_RETURN(const link::Message answer, Receive());
  const auto* ready = std::get_if<link::ModelReady>(&answer);
  if (ready == nullptr) return Unavailable("gp-sampler does not say that its model is ready");
  ready_ = *ready;
  return OkStatus();
}

StatusOr<std::vector<TextTiming>> SamplerProcess::Write(std::vector<link::Generate> texts,
                                                        int64_t streams) {
  const LinkClock::time_point begin = LinkClock::now();
  const uint64_t first = requests_;
  requests_ += texts.size();
  std::vector<TextTiming> timings(texts.size());
  size_t next = 0;
  const auto send_next = [&]() -> Status {
    texts[next].request = first + next;
    timings[next].sent = SecondsSince(begin);
    return channel_.Send(texts[next++]);
  };
  while (next < texts.size() && std::cmp_less(next, streams)) RETURN_IF_ERROR(send_next());
  for (size_t finished = 0; finished < texts.size();) {
    ASSIGN_OR_RETURN(const link::Message message, Receive());
    const auto* generated = std::get_if<link::Generated>(&message);
    if (generated == nullptr) continue;
    for (const link::TextPiece& piece : generated->pieces) {
      if (piece.error) return Unavailable("gp-sampler: {}", *piece.error);
      TextTiming& timing = timings.at(piece.request - first);
      if (timing.first_byte == 0) timing.first_byte = SecondsSince(begin);
      timing.tokens += std::ssize(piece.tokens);
      if (!piece.finish) continue;
      timing.finished = SecondsSince(begin);
      ++finished;
      if (next < texts.size()) RETURN_IF_ERROR(send_next());
    }
  }
  return timings;
}

}  // namespace gp::engine
