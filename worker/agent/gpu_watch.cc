#include "worker/agent/gpu_watch.h"

#include <unistd.h>

#include <cerrno>
#include <map>
#include <utility>

#include "daemon/gpu_devices.h"

namespace gp::agent {
namespace {

SlotHealths WithHealthOf(const std::vector<SlotInfo>& slots) {
  SlotHealths healths;
  for (const SlotInfo& slot : slots) {
    if (!slot.health.problem.empty()) healths.emplace(slot.id, slot.health);
  }
  return healths;
}

}  // namespace

SlotHealths HealthOf(const std::vector<SlotInfo>& slots, const std::vector<GpuReading>& readings,
                     const std::string& program_problem) {
  std::map<std::string, const GpuReading*> by_uuid;
  for (const GpuReading& reading : readings) by_uuid[reading.uuid] = &reading;
  SlotHealths healths;
  for (const SlotInfo& slot : slots) {
    const auto found = by_uuid.find(slot.device);
    if (found != by_uuid.end() && !found->second->problem.empty()) {
      healths[slot.id] = {found->second->lost, found->second->problem};
    } else if (slot.is_gpu() && !program_problem.empty()) {
      healths[slot.id] = {false, program_problem};
    }
  }
  return healths;
}

std::string WhyNotExecutable(const std::string& path) {
  if (access(path.c_str(), X_OK) == 0) return "";
  return Message(ErrnoStatus(errno, "run", path)) +
         "; 'make gpu' builds it: put it beside gp-worker, or name it with gp-worker --gpu-trainer";
}

std::string WhyNoTrainer(const std::string& program) {
  const std::string why = WhyNotExecutable(program);
  return why.empty() ? daemon::MakeUnifiedMemoryDevice() : why;
}

GpuWatch::GpuWatch(const GpuInventory& inventory, std::vector<SlotInfo> slots,
                   std::string trainer_program, std::chrono::nanoseconds interval, Inbox& inbox,
                   AgentMetrics& metrics)
    : inventory_(inventory),
      slots_(std::move(slots)),
      trainer_program_(std::move(trainer_program)),
      interval_(interval),
      inbox_(inbox),
      metrics_(metrics),
      told_(WithHealthOf(slots_)),
      thread_([this] { Loop(); }) {}

GpuWatch::~GpuWatch() {
  MutexLock lock(mutex_);
  stopping_ = true;
  changed_.NotifyAll();
}

void GpuWatch::Loop() {
  do {
    Look();
  } while (Rest());
}

void GpuWatch::Look() {
  const std::vector<GpuReading> readings = inventory_.Read();
  SlotHealths healths = HealthOf(slots_, readings, WhyNoTrainer(trainer_program_));
  metrics_.SetGpus(slots_, readings, healths);
  if (healths == told_) return;
  // If the inbox is full, the next reading posts the change again.
  if (inbox_.Post(SlotsChanged{healths})) told_ = std::move(healths);
}

bool GpuWatch::Rest() {
  const auto until = std::chrono::steady_clock::now() + interval_;
  MutexLock lock(mutex_);
  while (!stopping_) {
    if (!changed_.WaitUntil(mutex_, until)) return !stopping_;
  }
  return false;
}

}  // namespace gp::agent
