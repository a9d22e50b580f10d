// ObjectStorage: Storage in a bucket of an S3-compatible object store. Paths are URLs that begin
// with the root: s3://bucket/prefix/runs/…. A directory exists when there is an object below it, or
// the empty object `path/` that MakeDirectory puts; the root always exists. Thread-safe.
//
// What differs from a mounted file system:
// - Create finds an existing object only when it is called: two writers of one name at the same
//   time both succeed, and the later one stays. Names of files are therefore never used twice.
// - PutIfAbsent is Unimplemented where the server does not keep to If-None-Match
//   (conditional_put.h).
// - A file that is overwritten while it is read is an error (Aborted), never a mixture.
// - Delete of a directory that others write to may leave what they wrote.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "storage/object/conditional_put.h"
#include "storage/object/credential_source.h"
#include "storage/object/object_writer.h"
#include "storage/object/s3_client.h"
#include "storage/storage.h"

namespace gp {

struct ObjectStorageOptions {
  std::string root;      // s3://bucket/prefix
  std::string endpoint;  // http(s)://HOST[:PORT]; empty: AWS in `region`
  std::string region = "us-east-1";
  object::Addressing addressing = object::Addressing::kByServer;
  object::PartOptions parts;
  object::TransportOptions transport;
  object::RetryOptions retry;
};

class ObjectStorage : public Storage {
 public:
  // InvalidArgument for options that cannot be; nothing is sent. `credentials` and `clock` must
  // outlive the storage.
  static StatusOr<std::unique_ptr<ObjectStorage>> Make(const ObjectStorageOptions& options,
                                                       object::CredentialSource& credentials,
                                                       const Clock& clock);

  Status MakeDirectory(const std::string& directory) const override;
  StatusOr<std::unique_ptr<StorageWriter>> Create(const std::string& path) const override;
  Status Put(const std::string& path, std::string_view data) const override;
  Status PutIfAbsent(const std::string& path, std::string_view data) const override;
  StatusOr<std::string> Get(const std::string& path, uint64_t size_bytes_max) const override;
  Status Stream(const std::string& path,
                const std::function<Status(std::string_view)>& consume) const override;
  StatusOr<uint64_t> Size(const std::string& path) const override;
  StatusOr<std::vector<std::string>> List(const std::string& directory) const override;
  Status Delete(const std::string& path) const override;
  // An object store has no limit that it tells; the result is the largest number.
  StatusOr<uint64_t> FreeBytes(const std::string& path) const override;

  // Aborts the uploads below `directory` that were begun before `before`, and returns how many. The
  // store keeps, and charges for, the parts of an interrupted upload until then.
  StatusOr<int> SweepUploads(const std::string& directory, WallTime before) const;

 private:
  ObjectStorage(const ObjectStorageOptions& options, const object::Location& location,
                object::BucketAddress address, object::CredentialSource& credentials,
                const Clock& clock);

  // The key of a path, or the error for one that is not below the root.
  StatusOr<std::string> KeyOf(const std::string& path) const;
  // OK, or NotFound.
  Status CheckDirectory(const std::string& key) const;
  Status CheckParent(const std::string& key) const;
  StatusOr<std::vector<std::string>> KeysBelow(const std::string& key) const;

  const std::string root_;      // s3://bucket or s3://bucket/prefix
  const std::string root_key_;  // the prefix
  const object::PartOptions parts_;
  const object::S3Client client_;
  const object::ConditionalPut conditional_put_;
};

}  // namespace gp
