// GpuWatch: reads the GPUs' health on a thread of its own, because the driver may block when a GPU
// hangs. Every reading updates the metrics. SlotsChanged is posted to the agent's loop when the
// health of a slot has changed. Made and destroyed by the daemon. The destructor waits for the
// reading in progress.
#pragma once

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "worker/agent/gpu/gpu_inventory.h"
#include "worker/agent/inbox.h"
#include "worker/agent/metrics.h"
#include "worker/agent/slots.h"

namespace gp::agent {

// The health of GPU slots, from the readings and the trainer program for GPUs. `program_problem`:
// why no trainer can start on a GPU; empty when one can.
SlotHealths HealthOf(const std::vector<SlotInfo>& slots, const std::vector<GpuReading>& readings,
                     const std::string& program_problem);

// Why `path` cannot be executed, and what to do; empty if it can.
std::string WhyNotExecutable(const std::string& path);

// Why `program` cannot start on a GPU of this machine, and what to do; empty if it can. Makes a
// device file that is missing (daemon/gpu_devices.h).
std::string WhyNoTrainer(const std::string& program);

class GpuWatch {
 public:
  // `inventory`, `inbox` and `metrics` must outlive this object. `slots`: those of the inventory's
  // GPUs.
  GpuWatch(const GpuInventory& inventory, std::vector<SlotInfo> slots, std::string trainer_program,
           std::chrono::nanoseconds interval, Inbox& inbox, AgentMetrics& metrics);
  ~GpuWatch();
  GpuWatch(const GpuWatch&) = delete;
  GpuWatch& operator=(const GpuWatch&) = delete;

 private:
  void Loop() EXCLUDES(mutex_);
  void Look();
  // Waits for the next reading. False when the thread must end.
  bool Rest() EXCLUDES(mutex_);

  const GpuInventory& inventory_;
  const std::vector<SlotInfo> slots_;
  const std::string trainer_program_;
  const std::chrono::nanoseconds interval_;
  Inbox& inbox_;
  AgentMetrics& metrics_;
  SlotHealths told_;  // last posted; used by the thread only

  Mutex mutex_;
  CondVar changed_;
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::jthread thread_;
};

}  // namespace gp::agent
