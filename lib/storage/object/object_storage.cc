#include "storage/object/object_storage.h"

#include <algorithm>
#include <future>
#include <limits>
#include <optional>
#include <utility>

#include "base/file.h"
#include "base/text/excerpt.h"

namespace gp {
namespace {

constexpr size_t kPartBytesMin = size_t{5} << 20;
constexpr uint64_t kRangeBytes = 8 << 20;
constexpr size_t kParallelDeletes = 8;

// The prefix of everything in the directory `key`; the empty key is the bucket itself.
std::string Inside(const std::string& key) { return key.empty() ? "" : key + "/"; }

// "name" in "prefix/name/".
std::string DirectoryName(std::string_view found, const std::string& prefix) {
  std::string_view name = found.substr(prefix.size());
  if (name.ends_with('/')) name.remove_suffix(1);
  return std::string(name);
}

// Some servers fold "." and "..", and then use another key.
bool HasPlainParts(std::string_view path) {
  while (true) {
    const std::string_view part = path.substr(0, path.find('/'));
    if (part.empty() || part == "." || part == "..") return false;
    if (part.size() == path.size()) return true;
    path.remove_prefix(part.size() + 1);
  }
}

// Calls `use` with each page of a list, until it is done or `use` returns an error.
Status ForEachPage(const object::S3Client& client, object::ListRequest request,
                   const std::function<Status(const object::Listing&)>& use) {
  while (true) {
    ASSIGN_OR_RETURN(const object::Listing page, client.List(request));
    RETURN_IF_ERROR(use(page));
    if (page.continuation.empty()) return OkStatus();
    if (page.continuation == request.continuation) {
      return Internal("list {}: the object store repeats a page", client.UrlOf(request.prefix));
    }
    request.continuation = page.continuation;
  }
}

// Deletes the objects, some at a time. The first error, after the others were tried.
Status DeleteAll(const object::S3Client& client, const std::vector<std::string>& keys) {
  Status failed;
  for (size_t begin = 0; begin < keys.size(); begin += kParallelDeletes) {
    std::vector<std::future<Status>> deletions;
    for (size_t i = begin; i < std::min(begin + kParallelDeletes, keys.size()); ++i) {
      deletions.push_back(
          std::async(std::launch::async, [&client, &key = keys[i]] { return client.Delete(key); }));
    }
    for (auto& deletion : deletions) {
      const Status deleted = deletion.get();
      if (failed.ok()) failed = deleted;
    }
  }
  return failed;
}

// Reads an object range by range, the next one while the caller uses the current one.
class RangeReader {
 public:
  RangeReader(const object::S3Client& client, std::string key, object::ObjectInfo info)
      : client_(client), key_(std::move(key)), info_(std::move(info)) {
    BeginNext();
  }

  bool AtEnd() const { return !next_.valid(); }

  StatusOr<std::string> Read() {
    auto range = next_.get();
    if (range.ok()) BeginNext();
    return range;
  }

 private:
  void BeginNext() {
    const object::ByteRange range{begin_, std::min(kRangeBytes, info_.size - begin_)};
    if (range.size == 0) return;
    begin_ += range.size;
    next_ = std::async(std::launch::async,
                       [this, range] { return client_.GetRange(key_, range, info_.etag); });
  }

  const object::S3Client& client_;
  const std::string key_;
  const object::ObjectInfo info_;
  uint64_t begin_ = 0;                       // of the range after `next_`
  std::future<StatusOr<std::string>> next_;  // last: it uses the others until it is destroyed
};

}  // namespace

StatusOr<std::unique_ptr<ObjectStorage>> ObjectStorage::Make(const ObjectStorageOptions& options,
                                                             object::CredentialSource& credentials,
                                                             const Clock& clock) {
  ASSIGN_OR_RETURN(const object::Location location, object::ParseLocation(options.root));
  ASSIGN_OR_RETURN(auto address, object::AddressOf(location.bucket, options.endpoint,
                                                   options.region, options.addressing));
  if (options.parts.part_bytes < kPartBytesMin) {
    return InvalidArgument("parts of {} bytes are too small; S3 takes at least {}",
                           options.parts.part_bytes, kPartBytesMin);
  }
  return std::unique_ptr<ObjectStorage>(
      new ObjectStorage(options, location, std::move(address), credentials, clock));
}

ObjectStorage::ObjectStorage(const ObjectStorageOptions& options, const object::Location& location,
                             object::BucketAddress address, object::CredentialSource& credentials,
                             const Clock& clock)
    : root_(location.prefix.empty() ? "s3://" + location.bucket
                                    : "s3://" + location.bucket + "/" + location.prefix),
      root_key_(location.prefix),
      parts_(options.parts),
      client_({.bucket = location.bucket,
               .address = std::move(address),
               .region = options.region,
               .transport = options.transport,
               .retry = options.retry},
              credentials, clock),
      conditional_put_(client_, Inside(root_key_) + ".gp-probe-") {}

StatusOr<std::string> ObjectStorage::KeyOf(const std::string& path) const {
  if (path == root_) return root_key_;
  if (!path.starts_with(root_ + "/") || !HasPlainParts(path.substr(root_.size() + 1))) {
    return InvalidArgument("'{}' is not a path below {}", Excerpt(path, 200), root_);
  }
  return Inside(root_key_) + path.substr(root_.size() + 1);
}

Status ObjectStorage::CheckDirectory(const std::string& key) const {
  if (key == root_key_) return OkStatus();
  const auto marker = client_.Head(Inside(key));
  if (marker.status().code() != StatusCode::kNotFound) return marker.status();
  ASSIGN_OR_RETURN(const object::Listing below,
                   client_.List({.prefix = Inside(key), .count_max = 1}));
  if (!below.keys.empty()) return OkStatus();
  return NotFound("the directory {} does not exist", client_.UrlOf(key));
}

Status ObjectStorage::CheckParent(const std::string& key) const {
  if (key == root_key_) return InvalidArgument("{} is the root, not a file", root_);
  const size_t slash = key.rfind('/');
  return CheckDirectory(slash == std::string::npos ? "" : key.substr(0, slash));
}

Status ObjectStorage::MakeDirectory(const std::string& directory) const {
  ASSIGN_OR_RETURN(const std::string key, KeyOf(directory));
  if (key == root_key_) return OkStatus();
  RETURN_IF_ERROR(CheckParent(key));
  return client_.Put(Inside(key), "");
}

StatusOr<std::unique_ptr<StorageWriter>> ObjectStorage::Create(const std::string& path) const {
  ASSIGN_OR_RETURN(const std::string key, KeyOf(path));
  RETURN_IF_ERROR(CheckParent(key));
  const auto existing = client_.Head(key);
  if (existing.ok()) return AlreadyExists("{} exists", path);
  if (existing.status().code() != StatusCode::kNotFound) return existing.status();
  return std::make_unique<object::ObjectWriter>(client_, key, parts_);
}

Status ObjectStorage::Put(const std::string& path, std::string_view data) const {
  ASSIGN_OR_RETURN(const std::string key, KeyOf(path));
  RETURN_IF_ERROR(CheckParent(key));
  return client_.Put(key, data);
}

Status ObjectStorage::PutIfAbsent(const std::string& path, std::string_view data) const {
  ASSIGN_OR_RETURN(const std::string key, KeyOf(path));
  RETURN_IF_ERROR(CheckParent(key));
  return conditional_put_.Put(key, data);
}

StatusOr<std::string> ObjectStorage::Get(const std::string& path, uint64_t size_bytes_max) const {
  ASSIGN_OR_RETURN(const std::string key, KeyOf(path));
  return client_.Get(key, size_bytes_max);
}

Status ObjectStorage::Stream(const std::string& path,
                             const std::function<Status(std::string_view)>& consume) const {
  ASSIGN_OR_RETURN(const std::string key, KeyOf(path));
  ASSIGN_OR_RETURN(object::ObjectInfo info, client_.Head(key));
  RangeReader reader(client_, key, std::move(info));
  while (!reader.AtEnd()) {
    ASSIGN_OR_RETURN(const std::string range, reader.Read());
    RETURN_IF_ERROR(consume(range));
  }
  return OkStatus();
}

StatusOr<uint64_t> ObjectStorage::Size(const std::string& path) const {
  ASSIGN_OR_RETURN(const std::string key, KeyOf(path));
  const auto info =
      key == root_key_ ? StatusOr<object::ObjectInfo>(NotFound("{}", path)) : client_.Head(key);
  if (info.ok()) return info->size;
  if (info.status().code() != StatusCode::kNotFound) return info.status();
  const Status directory = CheckDirectory(key);
  if (directory.ok()) return InvalidArgument("{} is not a file", path);
  return directory.code() == StatusCode::kNotFound ? info.status() : directory;
}

StatusOr<std::vector<std::string>> ObjectStorage::List(const std::string& directory) const {
  ASSIGN_OR_RETURN(const std::string key, KeyOf(directory));
  const std::string prefix = Inside(key);
  std::vector<std::string> names;
  bool has_marker = key == root_key_;
  RETURN_IF_ERROR(
      ForEachPage(client_, {.prefix = prefix, .delimiter = "/"}, [&](const object::Listing& page) {
        for (const std::string& found : page.keys) {
          has_marker = has_marker || found == prefix;
          if (found != prefix) names.push_back(found.substr(prefix.size()));
        }
        for (const std::string& found : page.prefixes) {
          names.push_back(DirectoryName(found, prefix));
        }
        return OkStatus();
      }));
  if (names.empty() && !has_marker) return NotFound("the directory {} does not exist", directory);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

StatusOr<std::vector<std::string>> ObjectStorage::KeysBelow(const std::string& key) const {
  std::vector<std::string> keys;
  RETURN_IF_ERROR(
      ForEachPage(client_, {.prefix = Inside(key)}, [&keys](const object::Listing& page) {
        keys.insert(keys.end(), page.keys.begin(), page.keys.end());
        return OkStatus();
      }));
  return keys;
}

Status ObjectStorage::Delete(const std::string& path) const {
  ASSIGN_OR_RETURN(const std::string key, KeyOf(path));
  ASSIGN_OR_RETURN(const std::vector<std::string> below, KeysBelow(key));
  RETURN_IF_ERROR(DeleteAll(client_, below));
  return key == root_key_ ? OkStatus() : client_.Delete(key);
}

StatusOr<uint64_t> ObjectStorage::FreeBytes(const std::string& path) const {
  RETURN_IF_ERROR(KeyOf(path).status());
  return std::numeric_limits<uint64_t>::max();
}

StatusOr<int> ObjectStorage::SweepUploads(const std::string& directory, WallTime before) const {
  ASSIGN_OR_RETURN(const std::string key, KeyOf(directory));
  ASSIGN_OR_RETURN(const auto uploads, client_.ListUploads(Inside(key)));
  int swept = 0;
  for (const object::Upload& upload : uploads) {
    if (upload.initiated >= before) continue;
    RETURN_IF_ERROR(client_.AbortUpload(upload.key, upload.id));
    ++swept;
  }
  return swept;
}

}  // namespace gp
