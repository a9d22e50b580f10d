// PeerProcess: another program's training step, run in a child that answers over pipes
// (tests/bench/peers), so that its steps can alternate with ours. Owned by a bench; one thread
// calls.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "worker/bench/paired_samples.h"

namespace gp::engine {

class PeerProcess final : public Peer {
 public:
  // Starts `command` and waits for its {"ready": ...} line. The error carries the child's last
  // line.
  static StatusOr<PeerProcess> Start(const std::vector<std::string>& command);

  PeerProcess(PeerProcess&& other) noexcept;
  PeerProcess& operator=(PeerProcess&&) = delete;
  // Closes the child's input, which makes it end, and reaps it. A child that does not end within 5
  // s gets SIGTERM, after 5 s more SIGKILL.
  ~PeerProcess() override;

  const std::string& description() const override { return description_; }
  StatusOr<std::vector<double>> RunSteps(int steps) override;

 private:
  PeerProcess() = default;
  // The next line of the child's output.
  StatusOr<std::string> ReadLine(std::chrono::seconds timeout);

  int pid_ = -1;
  FileDescriptor input_;
  FileDescriptor output_;
  std::string buffered_;
  std::string description_;
};

}  // namespace gp::engine
