// ObjectWriter: one object being written. Up to one part's size it is put at once in Close; a
// larger one is a multipart upload, some parts at a time, and becomes visible in Close. An upload
// that a killed process left continues: parts whose size and MD5 the store already has are not sent
// again. An upload that failed is left for that too; ObjectStorage::SweepUploads deletes it.
// Belongs to one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <future>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/object/s3_client.h"
#include "storage/storage.h"

namespace gp::object {

struct PartOptions {
  size_t part_bytes = size_t{8} << 20;  // at least 5 MiB; S3 takes 10,000 parts, so 78 GiB
  size_t parallel_parts = 4;            // each holds part_bytes of memory, and one more is filled
};

class ObjectWriter : public StorageWriter {
 public:
  // `client` must outlive the writer.
  ObjectWriter(const S3Client& client, std::string key, const PartOptions& options);
  // Aborts the upload if Close was not called and nothing has failed.
  ~ObjectWriter() override;

  Status Append(std::string_view data) override;
  Status Close() override;

 private:
  Status BeginUpload();
  Status SendPart();
  Status TakeOldestPart();
  Status Complete();
  Status CheckCompleted(const std::string& etag) const;
  Status Remember(const Status& status);

  const S3Client& client_;
  const std::string key_;
  const PartOptions options_;
  std::string buffer_;                 // the part that is being filled
  uint64_t size_ = 0;                  // bytes handed on in parts
  std::optional<std::string> upload_;  // the id
  std::map<int, Part> earlier_;        // the parts that the upload had when this writer took it up
  std::deque<std::future<StatusOr<Part>>> in_flight_;
  std::vector<Part> parts_;
  Status status_;  // the first error; all later calls return it
  bool is_closed_ = false;
};

}  // namespace gp::object
