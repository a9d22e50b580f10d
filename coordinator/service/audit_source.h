// AuditSource: the lines of the audit log with a sequence above `after_sequence`, for the stream of
// AccessService.Audit, up to the end of the log on disk. Lines that cannot be parsed are sent as
// well. Belongs to one stream.
#pragma once

#include <string>
#include <vector>

#include "base/file.h"
#include "coordinator/service/pull_stream.h"
#include "gp/v1/access_service.pb.h"

namespace gp::coordinator {

class AuditSource final : public StreamSource<v1::AuditLine> {
 public:
  AuditSource(std::string directory, uint64_t after_sequence)
      : directory_(std::move(directory)), after_(after_sequence) {}

  StatusOr<Pull> Next(v1::AuditLine& line) override;

 private:
  Status ListFiles();
  // False when no file is left.
  StatusOr<bool> OpenNextFile();
  // False when the file has no more bytes.
  StatusOr<bool> ReadMore();

  const std::string directory_;
  const uint64_t after_;
  bool listed_ = false;
  std::vector<std::string> names_;  // files not read yet, newest first
  std::string path_;
  FileDescriptor file_;
  uint64_t offset_ = 0;
  std::string buffer_;  // read but not sent yet
};

}  // namespace gp::coordinator
