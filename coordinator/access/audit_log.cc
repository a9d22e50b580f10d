#include "coordinator/access/audit_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/failpoint.h"
#include "base/log.h"

namespace gp::coordinator {
namespace {

constexpr size_t kFilesMin = 2;  // files that are always kept, however large
constexpr uint64_t kHeadBytesMax = 4096;
constexpr char kManyOthers[] = "several";

// The address without the port, which differs for each connection.
std::string HostOf(const std::string& address) { return address.substr(0, address.rfind(':')); }

// The last complete record of a file.
struct FileEnd {
  uint64_t last = 0;
  std::string hash;
  uint64_t size_bytes = 0;  // of the complete records
  bool damaged = false;     // a record breaks the hash chain, or differs from the one in the head
};

StatusOr<FileEnd> ReadEnd(const std::string& path, const formats::AuditHead& head) {
  ASSIGN_OR_RETURN(const std::string content, ReadFile(path));
  FileEnd end;
  formats::AuditChain chain;
  std::string_view rest = content;
  while (true) {
    const size_t newline = rest.find('\n');
    if (newline == std::string_view::npos) return end;
    end.damaged = !chain.Follow(rest.substr(0, newline)).ok() ||
                  (chain.last() == head.last && chain.hash() != head.hash);
    if (end.damaged) return end;
    end.last = chain.last();
    end.hash = chain.hash();
    end.size_bytes += newline + 1;
    rest.remove_prefix(newline + 1);
  }
}

Status CutTo(const std::string& path, uint64_t size_bytes) {
  if (truncate(path.c_str(), static_cast<off_t>(size_bytes)) == 0) return OkStatus();
  return ErrnoStatus(errno, "remove the incomplete last record of", path);
}

}  // namespace

StatusOr<std::unique_ptr<AuditLog>> AuditLog::Open(const std::string& directory, const Clock& clock,
                                                   const AuditLogOptions& options) {
  RETURN_IF_ERROR(WithContext(MakeDirectories(directory, 0700), "audit directory"));
  std::unique_ptr<AuditLog> log(new AuditLog(directory, clock, options));
  ASSIGN_OR_RETURN(const bool has_head, log->OpenHead());
  RETURN_IF_ERROR(log->Recover(has_head));
  RETURN_IF_ERROR(log->WriteHead());
  {
    MutexLock lock(log->mutex_);
    log->window_end_ = clock.Now() + options.refusal_window;
  }
  log->thread_ = std::jthread([raw = log.get()] { raw->Loop(); });
  return log;
}

AuditLog::~AuditLog() {
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    posted_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

// False when there is no readable head.
StatusOr<bool> AuditLog::OpenHead() {
  const std::string path = JoinPath(directory_, formats::kAuditHeadName);
  const auto text = ReadFile(path, kHeadBytesMax);
  StatusOr<formats::AuditHead> head =
      text.ok() ? formats::ParseAuditHead(*text) : StatusOr<formats::AuditHead>(text.status());
  head_file_ = FileDescriptor(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!head_file_.valid()) return ErrnoStatus(errno, "open", path);
  if (head.ok()) head_ = *std::move(head);
  return head.ok();
}

Status AuditLog::Recover(bool has_head) {
  RETURN_IF_ERROR(RemoveBefore(head_.first));
  ASSIGN_OR_RETURN(const std::vector<std::string> names, formats::ListAuditFiles(directory_));
  if (names.empty() && head_.last == 0) return BeginFile();
  if (names.empty() || !has_head) return GoOnBehindDamage(names);
  const std::string path = JoinPath(directory_, names.back());
  ASSIGN_OR_RETURN(FileEnd end, ReadEnd(path, head_));
  const uint64_t size_bytes = end.size_bytes;
  // A new file has no record yet; the end is in the file before it.
  if (size_bytes == 0 && !end.damaged && names.size() > 1) {
    ASSIGN_OR_RETURN(end, ReadEnd(JoinPath(directory_, names[names.size() - 2]), head_));
  }
  if (end.damaged || end.last < head_.last) return GoOnBehindDamage(names);
  if (end.last > 0) {
    head_.last = end.last;
    head_.hash = end.hash;
  }
  RETURN_IF_ERROR(CutTo(path, size_bytes));
  ASSIGN_OR_RETURN(file_, AppendFile::Open(path));
  return OkStatus();
}

// Continues in a new file after damage. Skips one sequence number, so that every check of the log
// finds the gap.
Status AuditLog::GoOnBehindDamage(const std::vector<std::string>& names) {
  LogError("the audit log is damaged; it continues in a new file",
           {{"directory", directory_}, {"check", "gpctl audit verify " + directory_}});
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(const uint64_t first, formats::FirstOfAuditFile(name));
    const auto end = ReadEnd(JoinPath(directory_, name), {});
    head_.last = std::max({head_.last, first, end.ok() ? end->last : 0});
  }
  ++head_.last;
  return BeginFile();
}

Status AuditLog::BeginFile() {
  const std::string path = JoinPath(directory_, formats::AuditFileName(head_.last + 1));
  const FileDescriptor made(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!made.valid()) return ErrnoStatus(errno, "make", path);
  ASSIGN_OR_RETURN(file_, AppendFile::Open(path));
  return SyncDirectory(directory_);
}

void AuditLog::Record(formats::AuditRecord record, Done done) {
  record.at = clock_.WallNow();
  {
    MutexLock lock(mutex_);
    if (waiting_.size() < options_.waiting_max) {
      waiting_.push_back({std::move(record), std::move(done)});
      posted_.NotifyOne();
      return;
    }
  }
  if (done) done(ResourceExhausted("the audit log is written too slowly; try again"));
}

void AuditLog::RecordRefusal(formats::AuditRecord record) {
  record.at = clock_.WallNow();
  MutexLock lock(mutex_);
  if (single_refusals_ < options_.single_refusals_per_window &&
      waiting_.size() < options_.waiting_max) {
    ++single_refusals_;
    waiting_.push_back({std::move(record), nullptr});
    posted_.NotifyOne();
    return;
  }
  RefusalKind kind(record.principal, HostOf(record.address), record.method, record.outcome);
  if (counted_.size() >= options_.counted_kinds_max && !counted_.contains(kind)) {
    kind = {kManyOthers, kManyOthers, kManyOthers, kManyOthers};
    record.principal = record.address = record.method = record.outcome = kManyOthers;
    record.token = record.target = record.request_id = record.message = "";
  }
  const auto [found, is_new] = counted_.emplace(std::move(kind), std::move(record));
  if (!is_new) ++found->second.count;
}

Status AuditLog::health() const {
  MutexLock lock(mutex_);
  return health_;
}

void AuditLog::CloseWindow() {
  window_end_ = clock_.Now() + options_.refusal_window;
  single_refusals_ = 0;
  for (auto& [kind, record] : counted_) waiting_.push_back({std::move(record), nullptr});
  counted_.clear();
}

std::optional<std::vector<AuditLog::Waiting>> AuditLog::Take() {
  MutexLock lock(mutex_);
  while (waiting_.empty() && !stopped_ && clock_.Now() < window_end_) {
    posted_.WaitFor(mutex_, window_end_ - clock_.Now());
  }
  if (stopped_ || clock_.Now() >= window_end_) CloseWindow();
  if (stopped_ && waiting_.empty()) return std::nullopt;
  return std::exchange(waiting_, {});
}

void AuditLog::Loop() {
  while (std::optional<std::vector<Waiting>> batch = Take()) {
    if (batch->empty()) continue;
    const Status written = Write(*batch);
    if (!written.ok()) {
      LogError("the audit log cannot be written; changes are refused until it can",
               {{"directory", directory_}, {"error", gp::Message(written)}});
    }
    {
      MutexLock lock(mutex_);
      health_ = written;
    }
    for (const Waiting& waiting : *batch) {
      if (waiting.done) waiting.done(written);
    }
  }
}

Status AuditLog::Write(std::vector<Waiting>& batch) {
  if (file_->size_bytes() >= options_.file_bytes_max) RETURN_IF_ERROR(Rotate());
  formats::AuditHead after = head_;
  std::string lines;
  for (Waiting& waiting : batch) {
    waiting.record.sequence = ++after.last;
    const std::string line = formats::RenderAuditLine(waiting.record, after.hash);
    ASSIGN_OR_RETURN(const formats::AuditLine parsed, formats::ParseAuditLine(line));
    after.hash = parsed.hash;
    lines += line + "\n";
  }
  RETURN_IF_ERROR(Append(lines));
  head_ = after;
  RETURN_IF_ERROR(WriteHead());
  Failpoint("audit.after_head");
  return OkStatus();
}

// Appends all lines or, on error, none.
Status AuditLog::Append(const std::string& lines) {
  const uint64_t size_before = file_->size_bytes();
  RETURN_IF_ERROR(file_->Append(lines));
  Failpoint("audit.before_sync");
  const Status synced = file_->Sync();
  if (!synced.ok()) RETURN_IF_ERROR(file_->CutTo(size_before));
  return synced;
}

// Not synced: after a power loss the head may lag behind the records, which a check allows.
Status AuditLog::WriteHead() {
  const std::string text = formats::RenderAuditHead(head_);
  if (pwrite(head_file_.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size())) {
    return OkStatus();
  }
  return ErrnoStatus(errno, "write", JoinPath(directory_, formats::kAuditHeadName));
}

Status AuditLog::Rotate() {
  RETURN_IF_ERROR(BeginFile());
  return RemoveOld();
}

Status AuditLog::RemoveOld() {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, formats::ListAuditFiles(directory_));
  uint64_t kept_bytes = 0;
  size_t kept = 0;
  for (auto name = names.rbegin(); name != names.rend(); ++name, ++kept) {
    ASSIGN_OR_RETURN(const uint64_t size_bytes, FileSize(JoinPath(directory_, *name)));
    kept_bytes += size_bytes;
    if (kept_bytes > options_.keep_bytes) break;
  }
  kept = std::max(kept, kFilesMin);
  if (names.size() <= kept) return OkStatus();
  const size_t removed = names.size() - kept;
  ASSIGN_OR_RETURN(head_.first, formats::FirstOfAuditFile(names[removed]));
  // Write the head first: if the process is killed before it removes the files, Recover removes
  // them at the next start.
  RETURN_IF_ERROR(WriteHead());
  return RemoveBefore(head_.first);
}

Status AuditLog::RemoveBefore(uint64_t first_kept) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, formats::ListAuditFiles(directory_));
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(const uint64_t first, formats::FirstOfAuditFile(name));
    if (first < first_kept) RETURN_IF_ERROR(RemoveTree(JoinPath(directory_, name)));
  }
  return OkStatus();
}

}  // namespace gp::coordinator
