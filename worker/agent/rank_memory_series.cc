#include "worker/agent/rank_memory_series.h"

#include <prometheus/gauge.h>
#include <prometheus/registry.h>
#include <unistd.h>

#include <fstream>
#include <optional>
#include <string>
#include <utility>

namespace gp::agent {
namespace {

using prometheus::BuildGauge;

// Nullopt when the process has ended.
std::optional<double> ResidentBytes(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
  double size_pages = 0;
  double resident_pages = 0;
  if (!(file >> size_pages >> resident_pages)) return std::nullopt;
  return resident_pages * static_cast<double>(sysconf(_SC_PAGESIZE));
}

}  // namespace

RankMemorySeries::RankMemorySeries(prometheus::Registry& registry)
    : resident_(BuildGauge()
                    .Name("gp_worker_memory_resident_bytes")
                    .Help("Host memory of the rank's process, including memory shared with other "
                          "ranks; not GPU memory.")
                    .Register(registry)),
      limit_(BuildGauge()
                 .Name("gp_worker_memory_limit_bytes")
                 .Help("Limit of the control group of the rank's process; absent without one.")
                 .Register(registry)) {}

void RankMemorySeries::Started(const RankKey& key, int pid, uint64_t limit_bytes) {
  const prometheus::Labels labels = {{"run", key.run_id}, {"rank", std::to_string(key.rank)}};
  MutexLock lock(mutex_);
  Series& series = series_[{key.run_id, key.rank}];
  series.epoch = key.epoch;
  series.pid = pid;
  series.resident = &resident_.Add(labels);
  if (limit_bytes == 0) {
    if (series.limit != nullptr) limit_.Remove(std::exchange(series.limit, nullptr));
    return;
  }
  series.limit = &limit_.Add(labels);
  series.limit->Set(static_cast<double>(limit_bytes));
}

void RankMemorySeries::Ended(const RankKey& key) {
  MutexLock lock(mutex_);
  const auto found = series_.find({key.run_id, key.rank});
  if (found == series_.end() || found->second.epoch != key.epoch) return;
  resident_.Remove(found->second.resident);
  if (found->second.limit != nullptr) limit_.Remove(found->second.limit);
  series_.erase(found);
}

void RankMemorySeries::Refresh() {
  MutexLock lock(mutex_);
  for (const auto& [key, series] : series_) {
    if (const auto bytes = ResidentBytes(series.pid)) series.resident->Set(*bytes);
  }
}

}  // namespace gp::agent
