#include "coordinator/service/audit_source.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "base/read_at.h"
#include "formats/audit_log.h"

namespace gp::coordinator {
namespace {

constexpr size_t kAuditPageBytes = 64 << 10;

}  // namespace

Status AuditSource::ListFiles() {
  listed_ = true;
  ASSIGN_OR_RETURN(names_, formats::ListAuditFiles(directory_));
  std::reverse(names_.begin(), names_.end());
  // Only the last of the files that begin at or before the wanted record can hold it.
  while (names_.size() > 1) {
    ASSIGN_OR_RETURN(const uint64_t second, formats::FirstOfAuditFile(names_[names_.size() - 2]));
    if (second > after_ + 1) break;
    names_.pop_back();
  }
  return OkStatus();
}

StatusOr<bool> AuditSource::OpenNextFile() {
  if (names_.empty()) return false;
  path_ = JoinPath(directory_, names_.back());
  names_.pop_back();
  file_ = FileDescriptor(open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file_.valid()) return ErrnoStatus(errno, "open", path_);
  offset_ = 0;
  buffer_.clear();
  return true;
}

StatusOr<bool> AuditSource::ReadMore() {
  const size_t size_before = buffer_.size();
  buffer_.resize(size_before + kAuditPageBytes);
  const StatusOr<size_t> read =
      ReadAt(file_.get(), offset_, {buffer_.data() + size_before, kAuditPageBytes}, path_);
  buffer_.resize(size_before + read.value_or(0));
  RETURN_IF_ERROR(read.status());
  offset_ += *read;
  return *read > 0;
}

StatusOr<Pull> AuditSource::Next(v1::AuditLine& line) {
  if (!listed_) RETURN_IF_ERROR(ListFiles());
  const size_t end = buffer_.find('\n');
  if (end != std::string::npos) {
    line.set_line(buffer_.substr(0, end));
    buffer_.erase(0, end + 1);
    const auto parsed = formats::ParseAuditLine(line.line());
    // An unreadable line is sent as well: a client that checks the log must see it.
    if (parsed.ok() && parsed->record.sequence <= after_) return Pull::kMore;
    return Pull::kMessage;
  }
  if (file_.valid()) {
    ASSIGN_OR_RETURN(const bool more, ReadMore());
    if (more) return Pull::kMore;
  }
  ASSIGN_OR_RETURN(const bool opened, OpenNextFile());
  return opened ? Pull::kMore : Pull::kEnd;
}

}  // namespace gp::coordinator
