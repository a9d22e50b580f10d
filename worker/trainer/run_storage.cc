#include "worker/trainer/run_storage.h"

#include <utility>

namespace gp::engine {

RunStorage::RunStorage(const std::string& run_directory, std::shared_ptr<const Storage> broker)
    : directory_(run_directory), broker_(std::move(broker)) {}

const Storage& RunStorage::Reached() const {
  if (broker_ == nullptr) return local_;
  const RunDirectory::Place place = directory_.Find();
  const bool stays =
      place == RunDirectory::Place::kThere || (place == RunDirectory::Place::kMoved && !last_save_);
  return stays ? local_ : *broker_;
}

Status RunStorage::MakeDirectory(const std::string& directory) const {
  return Reached().MakeDirectory(directory);
}

StatusOr<std::unique_ptr<StorageWriter>> RunStorage::Create(const std::string& path) const {
  return Reached().Create(path);
}

Status RunStorage::Put(const std::string& path, std::string_view data) const {
  return Reached().Put(path, data);
}

Status RunStorage::PutIfAbsent(const std::string& path, std::string_view data) const {
  return Reached().PutIfAbsent(path, data);
}

StatusOr<std::string> RunStorage::Get(const std::string& path, uint64_t size_bytes_max) const {
  return Reached().Get(path, size_bytes_max);
}

Status RunStorage::Stream(const std::string& path,
                          const std::function<Status(std::string_view)>& consume) const {
  return Reached().Stream(path, consume);
}

StatusOr<uint64_t> RunStorage::Size(const std::string& path) const { return Reached().Size(path); }

StatusOr<std::vector<std::string>> RunStorage::List(const std::string& directory) const {
  return Reached().List(directory);
}

Status RunStorage::Delete(const std::string& path) const { return Reached().Delete(path); }

StatusOr<uint64_t> RunStorage::FreeBytes(const std::string& path) const {
  return Reached().FreeBytes(path);
}

}  // namespace gp::engine
