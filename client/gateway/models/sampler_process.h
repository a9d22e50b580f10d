// SamplerProcess: a running gp-sampler: its process and its end of the link, without a thread that
// waits. Made and used in the loop, whose thread must live as long as the gateway: the kernel kills
// the sampler when the thread that started it ends.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "contract/messages.h"
#include "http/event_loop.h"

namespace gp::gateway {

struct SamplerCommand {
  std::string program;
  std::vector<std::string> arguments = {"--link"};
  std::string version;  // the gateway's, for Hello
};

// Events of a sampler. No more are delivered after its end, or after its process object is
// destroyed.
struct SamplerEvents {
  std::function<void(const link::ModelReady&)> ready;
  std::function<void(link::TextPiece)> piece;
  std::function<void()> sent;  // every queued byte was written to the link: unsent_bytes() is 0
  // The process is gone. `status` says why: its Failed message (DataLoss for a damaged checkpoint,
  // else Unavailable), the `why` of Kill, or how it ended.
  std::function<void(const Status& status)> ended;
};

class SamplerProcess {
 public:
  // NotFound or PermissionDenied name the program.
  static StatusOr<std::unique_ptr<SamplerProcess>> Start(http::EventLoop& loop,
                                                         const SamplerCommand& command,
                                                         const link::OpenModel& model,
                                                         SamplerEvents events);
  // Kills it; it is reaped in the loop.
  virtual ~SamplerProcess() = default;

  // False: the message is too long for the link, and was not sent.
  virtual bool Send(const link::Message& message) = 0;
  // Bytes that were not written to the link yet: the socket's buffer is full.
  virtual size_t unsent_bytes() const = 0;
  // Asks it to exit at once, and kills it after 2 s.
  virtual void Stop() = 0;
  // SIGKILL to its process group. `why` becomes the reason of its end, unless it has reported one.
  virtual void Kill(const std::string& why) = 0;
  virtual int pid() const = 0;
};

}  // namespace gp::gateway
