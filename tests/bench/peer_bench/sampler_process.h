// SamplerProcess: a gp-sampler that this process uses over the link, as the gateway does, but
// without HTTP. It shows the speed of writing texts without a server. One thread calls.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "bench/peer_bench/text_load.h"
#include "contract/channel.h"

namespace gp::engine {

class SamplerProcess {
 public:
  // Starts `program` and waits until the model is ready.
  static StatusOr<std::unique_ptr<SamplerProcess>> Start(const std::string& program,
                                                         const link::OpenModel& model);
  ~SamplerProcess();

  const link::ModelReady& ready() const { return ready_; }

  // Writes the texts, `streams` at a time. It sets their request numbers.
  StatusOr<std::vector<TextTiming>> Write(std::vector<link::Generate> texts, int64_t streams);

 private:
  SamplerProcess(pid_t pid, FileDescriptor socket);
  StatusOr<link::Message> Receive();
  Status Greet(const link::OpenModel& model);

  const pid_t pid_;
  link::Channel channel_;
  link::ModelReady ready_;
  uint64_t requests_ = 0;
};

}  // namespace gp::engine
