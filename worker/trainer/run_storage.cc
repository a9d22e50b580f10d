#include "worker/trainer/run_storage.h"

#include <utility>

namespace gp::engine {

RunStorage::RunStorage(const std::string& run_directory, std::shared_ptr<Storage> broker)
    : directory_(run_directory), broker_(std::move(broker)) {}

Storage& RunStorage::Reached() {
  if (broker_ == nullptr) return local_;
  const RunDirectory::Place place = directory_.Find();
  const bool stays =
      place == RunDirectory::Place::kThere || (place == RunDirectory::Place::kMoved && !last_save_);
  return stays ? local_ : *broker_;
}

Status RunStorage::MakeDirectory(const std::string& directory) {
  return Reached().MakeDirectory(directory);
}

StatusOr<std::unique_ptr<StorageWriter>> RunStorage::Create(const std::string& path) {
  return Reached().Create(path);
}

Status RunStorage::WriteAtomically(const std::string& path, std::string_view data) {
  return Reached().WriteAtomically(path, data);
}

StatusOr<std::string> RunStorage::Read(const std::string& path, uint64_t size_bytes_max) {
  return Reached().Read(path, size_bytes_max);
}

Status RunStorage::Stream(const std::string& path,
                          const std::function<Status(std::string_view)>& consume) {
  return Reached().Stream(path, consume);
}

Status RunStorage::RemoveTree(const std::string& path) { return Reached().RemoveTree(path); }

StatusOr<uint64_t> RunStorage::FreeBytes(const std::string& path) {
  return Reached().FreeBytes(path);
}

}  // namespace gp::engine
