#include "coordinator/store/memory_store.h"

#include <map>

#include "coordinator/state/annotation.h"
#include "coordinator/store/codec.h"
#include "coordinator/store/ended_runs_table.h"

namespace gp::coordinator {

MemoryStore::MemoryStore(Disk& disk) : disk_(disk) {
  MutexLock lock(disk_.mutex);
  generation_ = ++disk_.generation;
}

StatusOr<uint64_t> MemoryStore::Append(const std::vector<Event>& events) {
  MutexLock lock(disk_.mutex);
  if (disk_.generation != generation_) {
    return Aborted("another coordinator took over the store (generation {}; this one has {})",
                   disk_.generation, generation_);
  }
  if (disk_.full) return ResourceExhausted("store: the disk is full");
  const uint64_t first = disk_.records.size() + 1;
  for (const Event& event : events) {
    disk_.records.push_back(EncodeRecord(disk_.records.size() + 1, event));
  }
  return first;
}

Status MemoryStore::Load(const std::function<void(const StoredEvent&)>& visit) {
  MutexLock lock(disk_.mutex);
  for (const std::string& record : disk_.records) {
    ASSIGN_OR_RETURN(const StoredEvent stored, DecodeRecord(record));
    visit(stored);
  }
  return OkStatus();
}

StatusOr<std::vector<StoredEvent>> MemoryStore::ReadRun(const RunId& run, uint64_t after,
                                                        int limit) {
  MutexLock lock(disk_.mutex);
  std::vector<StoredEvent> events;
  for (size_t i = after; i < disk_.records.size() && static_cast<int>(events.size()) < limit; ++i) {
    ASSIGN_OR_RETURN(StoredEvent stored, DecodeRecord(disk_.records[i]));
    if (stored.event.run == run) events.push_back(std::move(stored));
  }
  return events;
}

StatusOr<std::vector<EndedRun>> MemoryStore::ListEnded(const RunQuery& query,
                                                       const EndedRange& range) {
  MutexLock lock(disk_.mutex);
  std::map<RunId, Run> submitted;
  std::map<uint64_t, RunId> found;
  for (const std::string& record : disk_.records) {
    ASSIGN_OR_RETURN(const StoredEvent stored, DecodeRecord(record));
    if (const auto run = SubmittedRun(stored)) submitted[run->id] = *run;
    if (!submitted.contains(stored.event.run)) continue;
    Run& run = submitted[stored.event.run];
    if (std::holds_alternative<LegRequested>(stored.event.body) ||
        std::holds_alternative<RunDeleted>(stored.event.body))
      found.erase(run.submitted_sequence);
    if (const auto* change = std::get_if<RunAnnotated>(&stored.event.body)) Annotate(*change, run);
    const auto* ended = std::get_if<RunEnded>(&stored.event.body);
    if (ended == nullptr) continue;
    run.state = ended->state;
    const bool in_range = stored.sequence > range.after && stored.sequence <= range.through &&
                          run.submitted_sequence < range.before;
    if (in_range) found[run.submitted_sequence] = run.id;
  }
  std::erase_if(found, [&](const auto& run) { return !Matches(query, submitted[run.second]); });
  std::vector<EndedRun> runs;
  for (auto run = found.rbegin(); run != found.rend() && runs.size() < range.limit; ++run) {
    runs.push_back({run->second, run->first});
  }
  return runs;
}

}  // namespace gp::coordinator
