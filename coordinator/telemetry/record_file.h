// RecordFile: an append-only file of records with a CRC each (docs/formats/store.md). Open cuts off
// a torn tail left by a crash. Damage before an intact record loses only the records that it
// touches: Open writes a new file without them and keeps the old one as <path>.damaged-1, -2 or -3;
// a fourth one replaces -3. After damage only records up to 64 KiB are found. Readers see complete
// records only. A RecordFile belongs to one thread at a time; ReadRecords may be called from any
// thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/append_file.h"
#include "base/status.h"

namespace gp::coordinator {

constexpr std::string_view kRecordFileMagic = "gplog01\n";
constexpr size_t kRecordHeaderBytes =
    8;  // u32 payload size, u32 CRC-32C of the payload, little-endian
constexpr uint32_t kRecordBytesMax = 1 << 20;

class RecordFile {
 public:
  // Creates the file if absent; calls `visit` for every record and cuts off what follows the last
  // complete one. With `from`, an earlier size_bytes(), it does not read or change anything before
  // that byte. DataLoss when the file is not a record file.
  static StatusOr<RecordFile> Open(const std::string& path,
                                   const std::function<void(std::string_view)>& visit,
                                   uint64_t from = 0);

  // Appends records of 1 to kRecordBytesMax bytes; on an error none of them is kept. Durable after
  // Sync. If Sync fails, the records since the last Sync are cut off again.
  Status Append(const std::vector<std::string>& payloads);
  Status Sync();

  uint64_t size_bytes() const { return file_.size_bytes(); }

 private:
  explicit RecordFile(AppendFile file)
      : file_(std::move(file)), synced_bytes_(file_.size_bytes()) {}

  AppendFile file_;
  uint64_t synced_bytes_ = 0;
  bool unsynced_ = true;  // a killed process may have left records that are not on disk yet
};

// Makes `path` a file of one record. Not synced: after a power loss it may be absent, older or
// damaged.
Status WriteRecord(const std::string& path, std::string_view payload);

// Calls `visit` for the complete records from `offset` (0: the first) on until it returns false,
// and returns the offset after the last one visited. Skips damage. A missing file has no records.
StatusOr<uint64_t> ReadRecords(const std::string& path, uint64_t offset,
                               const std::function<bool(std::string_view)>& visit);

}  // namespace gp::coordinator
