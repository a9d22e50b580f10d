#include "storage/object/object_writer.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/check.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "storage/object/digest.h"

namespace gp::object {
namespace {

constexpr int kPartsMax = 10'000;

// The MD5 of the parts' MD5s and their number, which S3 and most servers use as the ETag. Empty if
// an ETag of a part is no MD5.
std::string EtagOf(const std::vector<Part>& parts) {
  std::string digests;
  for (const Part& part : parts) {
    if (part.etag.size() != 32) return "";
    for (size_t i = 0; i < part.etag.size(); i += 2) {
      unsigned int byte = 0;
      const char* begin = part.etag.data() + i;
      if (std::from_chars(begin, begin + 2, byte, 16).ptr != begin + 2) return "";
      digests += static_cast<char>(byte);
    }
  }
  return fmt::format("{}-{}", Hex(Md5(digests)), parts.size());
}

// "0123…-12", the form of EtagOf.
bool HasPartsForm(const std::string& etag) { return etag.size() > 33 && etag[32] == '-'; }

// The newest interrupted upload of exactly this object.
StatusOr<std::optional<std::string>> FindUpload(const S3Client& client, const std::string& key) {
  ASSIGN_OR_RETURN(const auto uploads, client.ListUploads(key));
  const Upload* newest = nullptr;
  for (const Upload& upload : uploads) {
    if (upload.key != key) continue;
    if (newest == nullptr || newest->initiated <= upload.initiated) newest = &upload;
  }
  if (newest == nullptr) return std::optional<std::string>();
  return std::optional(newest->id);
}

StatusOr<Part> PutPart(const S3Client& client, const std::string& key, const std::string& upload,
                       const std::string& data, const Part& earlier, int number) {
  if (earlier.size == data.size() && earlier.etag == Hex(Md5(data))) return earlier;
  auto part = client.PutPart(key, upload, number, data);
  if (part.ok()) Failpoint("object.part_put");
  return part;
}

}  // namespace

ObjectWriter::ObjectWriter(const S3Client& client, std::string key, const PartOptions& options)
    : client_(client), key_(std::move(key)), options_(options) {
  GP_CHECK(options_.parallel_parts > 0);
}

ObjectWriter::~ObjectWriter() {
  for (auto& part : in_flight_) part.wait();
  if (is_closed_ || !upload_ || !status_.ok()) return;
  const Status aborted = client_.AbortUpload(key_, *upload_);
  if (!aborted.ok()) LogWarning("upload not aborted", {{"reason", Message(aborted)}});
}

Status ObjectWriter::Remember(const Status& status) {
  if (status_.ok()) status_ = status;
  return status;
}

Status ObjectWriter::Append(std::string_view data) {
  RETURN_IF_ERROR(status_);
  while (!data.empty()) {
    // A full part is sent when more follows: a last part of no bytes would be refused.
    if (buffer_.size() == options_.part_bytes) RETURN_IF_ERROR(Remember(SendPart()));
    const size_t count = std::min(data.size(), options_.part_bytes - buffer_.size());
    buffer_.append(data.substr(0, count));
    data.remove_prefix(count);
  }
  return OkStatus();
}

Status ObjectWriter::Close() {
  RETURN_IF_ERROR(status_);
  RETURN_IF_ERROR(Remember(upload_ ? Complete() : client_.Put(key_, buffer_)));
  is_closed_ = true;
  return OkStatus();
}

Status ObjectWriter::BeginUpload() {
  ASSIGN_OR_RETURN(upload_, FindUpload(client_, key_));
  if (upload_) {
    ASSIGN_OR_RETURN(earlier_, client_.ListParts(key_, *upload_));
    LogInfo("upload continues", {{"object", client_.UrlOf(key_)}, {"parts", earlier_.size()}});
    return OkStatus();
  }
  ASSIGN_OR_RETURN(upload_, client_.CreateUpload(key_));
  Failpoint("object.upload_begun");
  return OkStatus();
}

// Sends the full buffer beside the caller; waits while as many parts as allowed are on their way.
Status ObjectWriter::SendPart() {
  if (!upload_) RETURN_IF_ERROR(BeginUpload());
  const int number = static_cast<int>(parts_.size() + in_flight_.size()) + 1;
  if (number > kPartsMax) {
    return ResourceExhausted("{} needs more than {} parts of {} bytes", client_.UrlOf(key_),
                             kPartsMax, options_.part_bytes);
  }
  if (in_flight_.size() == options_.parallel_parts) RETURN_IF_ERROR(TakeOldestPart());
  size_ += buffer_.size();
  const auto earlier = earlier_.find(number);
  in_flight_.push_back(std::async(std::launch::async,
                                  [this, number, data = std::exchange(buffer_, {}),
                                   known = earlier == earlier_.end() ? Part() : earlier->second] {
                                    return PutPart(client_, key_, *upload_, data, known, number);
                                  }));
  return OkStatus();
}

Status ObjectWriter::TakeOldestPart() {
  auto oldest = std::move(in_flight_.front());
  in_flight_.pop_front();
  ASSIGN_OR_RETURN(Part part, oldest.get());
  parts_.push_back(std::move(part));
  return OkStatus();
}

Status ObjectWriter::Complete() {
  if (!buffer_.empty()) RETURN_IF_ERROR(SendPart());
  while (!in_flight_.empty()) RETURN_IF_ERROR(TakeOldestPart());
  Failpoint("object.before_complete");
  const auto etag = client_.CompleteUpload(key_, *upload_, parts_);
  // The answer of an earlier attempt may have been lost: then the upload is gone and the object is
  // there.
  const bool may_be_done = etag.status().code() == StatusCode::kNotFound;
  if (!etag.ok() && !may_be_done) return etag.status();
  return CheckCompleted(may_be_done ? "" : *etag);
}

// Whether the object is the one that was uploaded. `etag` is that of the answer.
Status ObjectWriter::CheckCompleted(const std::string& etag) const {
  const auto info = client_.Head(key_);
  if (info.status().code() == StatusCode::kNotFound) {
    return Unavailable("{}: the upload was aborted by somebody else; write the object again",
                       client_.UrlOf(key_));
  }
  RETURN_IF_ERROR(info.status());
  std::string stored = info->etag;
  std::erase(stored, '"');
  const std::string expected = EtagOf(parts_);
  const bool is_comparable = HasPartsForm(stored) && HasPartsForm(expected);
  if (info->size != size_ || (is_comparable && stored != expected)) {
    return DataLoss("{} has {} bytes and ETag {}, expected {} bytes and {}", client_.UrlOf(key_),
                    info->size, stored, size_, expected);
  }
  if (!etag.empty() || is_comparable) return OkStatus();
  return Unavailable(
      "{}: the answer to the end of the upload was lost, and its ETag does not tell "
      "whether the object is this one",
      client_.UrlOf(key_));
}

}  // namespace gp::object
