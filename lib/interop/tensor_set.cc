#include "interop/tensor_set.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/text/excerpt.h"
#include "formats/plain_name.h"
#include "formats/strict_json.h"
#include "interop/unread_model.h"

namespace gp::interop {
namespace {

constexpr char kModelName[] = "model.safetensors";
constexpr char kIndexName[] = "model.safetensors.index.json";
constexpr uint64_t kIndexBytesMax = 64 << 20;
constexpr size_t kShardsMax = 1000;

// The map from a tensor's name to its file.
using WeightMap = std::map<std::string, std::string>;

StatusOr<WeightMap> ReadWeightMap(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kIndexBytesMax));
  ASSIGN_OR_RETURN(const nlohmann::json index, formats::ParseJsonFile(text, path));
  const auto found = index.find("weight_map");
  if (found == index.end() || !found->is_object()) {
    return InvalidArgument("{}: 'weight_map' is missing, or is not an object", path);
  }
  WeightMap listed;
  for (const auto& [tensor, file] : found->items()) {
    if (!file.is_string() || !formats::IsPlainName(file.get<std::string>())) {
      return InvalidArgument(
          "{}: tensor '{}' lies in {}, expected the name of a file in the same directory", path,
          Excerpt(tensor), Excerpt(file.dump()));
    }
    listed[tensor] = file.get<std::string>();
  }
  return listed;
}

Status NothingToRead(const std::string& directory) {
  if (!FileExists(directory)) return NotFound("{} does not exist", directory);
  RETURN_IF_ERROR(RefuseUnread(directory));
  return NotFound("{} holds neither {} nor {}", directory, kModelName, kIndexName);
}

}  // namespace

StatusOr<TensorSet> TensorSet::OpenFile(const std::string& path) {
  TensorSet set;
  set.path_ = path;
  RETURN_IF_ERROR(set.Add(path));
  return set;
}

StatusOr<TensorSet> TensorSet::OpenDirectory(const std::string& directory) {
  const std::string model = JoinPath(directory, kModelName);
  if (FileExists(model)) return OpenFile(model);
  const std::string index = JoinPath(directory, kIndexName);
  if (FileExists(index)) return OpenShards(directory, index);
  return NothingToRead(directory);
}

StatusOr<TensorSet> TensorSet::OpenShards(const std::string& directory, const std::string& index) {
  ASSIGN_OR_RETURN(const WeightMap listed, ReadWeightMap(index));
  std::set<std::string> files;
  for (const auto& [tensor, file] : listed) files.insert(file);
  if (files.size() > kShardsMax) {
    return InvalidArgument("{} lists {} files; at most {} are allowed", index, files.size(),
                           kShardsMax);
  }
  TensorSet set;
  set.path_ = index;
  for (const std::string& file : files) RETURN_IF_ERROR(set.Add(JoinPath(directory, file)));
  RETURN_IF_ERROR(set.CheckListed(listed, directory));
  return set;
}

Status TensorSet::Add(const std::string& path) {
  ASSIGN_OR_RETURN(TensorFile opened, TensorFile::Open(path));
  files_.push_back(std::make_unique<TensorFile>(std::move(opened)));
  for (const formats::TensorEntry& entry : files_.back()->header().tensors) {
    const auto [place, added] = places_.insert({entry.name, {files_.size() - 1, &entry}});
    if (added) continue;
    return InvalidArgument("tensor '{}' is in both {} and {}", Excerpt(entry.name),
                           files_[place->second.file]->path(), path);
  }
  return OkStatus();
}

Status TensorSet::CheckListed(const WeightMap& listed, const std::string& directory) const {
  for (const auto& [tensor, file] : listed) {
    const std::string path = JoinPath(directory, file);
    if (Find(tensor) == nullptr || FileOf(tensor) != path) {
      return InvalidArgument("{} says that tensor '{}' lies in {}, which does not hold it", path_,
                             Excerpt(tensor), path);
    }
  }
  for (const auto& [tensor, place] : places_) {
    if (listed.contains(tensor)) continue;
    return InvalidArgument("{} does not list tensor '{}' of {}", path_, Excerpt(tensor),
                           files_[place.file]->path());
  }
  return OkStatus();
}

const formats::TensorEntry* TensorSet::Find(std::string_view name) const {
  const auto found = places_.find(name);
  return found == places_.end() ? nullptr : found->second.entry;
}

std::vector<std::string> TensorSet::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, place] : places_) names.push_back(name);
  return names;
}

const std::string& TensorSet::FileOf(const std::string& name) const {
  return files_[places_.at(name).file]->path();
}

Status TensorSet::Read(const std::string& name, int64_t first, std::span<float> values) const {
  const Place& place = places_.at(name);
  return files_[place.file]->Read(*place.entry, first, values);
}

}  // namespace gp::interop
