// AuditLog: records who did what, as JSON lines under audit/ of the state directory
// (docs/formats/audit.md). Its own thread writes the queued records, syncs once and then calls
// back. Refusals can flood it: after the first 20 in a minute, those of one caller, host, method
// and outcome become one record with a count, written at the end of that minute. Owned by the
// daemon; every method may be called from any thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "base/append_file.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "formats/audit_log.h"

namespace gp::coordinator {

struct AuditLogOptions {
  // The oldest files beyond this are removed when a new file is begun; two files always stay.
  uint64_t keep_bytes = uint64_t{1} << 30;
  uint64_t file_bytes_max = uint64_t{16} << 20;  // from this size on, the next batch begins a file
  std::chrono::nanoseconds refusal_window = std::chrono::minutes(1);
  int single_refusals_per_window = 20;  // later ones are counted
  size_t counted_kinds_max = 64;        // more kinds of refusals in a window share one record
  size_t waiting_max = 65'536;          // records in memory
};

class AuditLog {
 public:
  // Continues after the last complete record; cuts off what a killed process left after it. If the
  // newest file is damaged, begins a new one, so that VerifyAuditDirectory finds the damage but the
  // coordinator can serve. `clock` must outlive the log.
  static StatusOr<std::unique_ptr<AuditLog>> Open(const std::string& directory, const Clock& clock,
                                                  const AuditLogOptions& options = {});
  // Writes the records that wait and the counted refusals first.
  ~AuditLog();

  const std::string& directory() const { return directory_; }

  // Calls `done` on the log's thread once the record is durable, or with the error; at once, on the
  // caller's thread, with ResourceExhausted when too many records wait. `done` may be null.
  // Sequence and time are filled in here.
  void Record(formats::AuditRecord record, std::function<void(const Status&)> done);
  // Records a refusal. It is written soon, or counted if there were too many in this window.
  void RecordRefusal(formats::AuditRecord record);
  // Why the last write failed; OK when it did not. While it is not OK nothing may be changed.
  Status health() const;

 private:
  using Done = std::function<void(const Status&)>;
  struct Waiting {
    formats::AuditRecord record;
    Done done;
  };
  // Principal, host, method, outcome.
  using RefusalKind = std::tuple<std::string, std::string, std::string, std::string>;

  AuditLog(std::string directory, const Clock& clock, const AuditLogOptions& options)
      : directory_(std::move(directory)), clock_(clock), options_(options) {}

  StatusOr<bool> OpenHead();
  Status Recover(bool has_head);
  Status GoOnBehindDamage(const std::vector<std::string>& names);
  Status BeginFile();
  void Loop();
  // Nullopt once the log has stopped and nothing waits.
  std::optional<std::vector<Waiting>> Take();
  void CloseWindow() REQUIRES(mutex_);
  Status Write(std::vector<Waiting>& batch);
  Status Append(const std::string& lines);
  Status WriteHead();
  Status Rotate();
  Status RemoveOld();
  Status RemoveBefore(uint64_t first_kept);

  const std::string directory_;
  const Clock& clock_;
  const AuditLogOptions options_;

  // Used by Open, then by the log's thread alone.
  std::optional<AppendFile> file_;
  FileDescriptor head_file_;
  formats::AuditHead head_;

  mutable Mutex mutex_;
  CondVar posted_;
  bool stopped_ GUARDED_BY(mutex_) = false;
  Status health_ GUARDED_BY(mutex_);
  std::vector<Waiting> waiting_ GUARDED_BY(mutex_);
  MonotonicTime window_end_ GUARDED_BY(mutex_);
  int single_refusals_ GUARDED_BY(mutex_) = 0;
  std::map<RefusalKind, formats::AuditRecord> counted_ GUARDED_BY(mutex_);
  std::jthread thread_;
};

}  // namespace gp::coordinator
