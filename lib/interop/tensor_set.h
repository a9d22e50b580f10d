// TensorSet: the tensors of a model in safetensors: one file, or a directory's model.safetensors,
// or the shards listed in its model.safetensors.index.json. Every name occurs once. Any thread may
// read.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "interop/tensor_file.h"

namespace gp::interop {

class TensorSet {
 public:
  static StatusOr<TensorSet> OpenFile(const std::string& path);

  // NotFound names the files that were looked for. FailedPrecondition when the weights exist in an
  // unsupported form (interop/unread_model.h): a pickle could run any code.
  static StatusOr<TensorSet> OpenDirectory(const std::string& directory);

  // The file or the index, for messages.
  const std::string& path() const { return path_; }

  // nullptr if there is no such tensor.
  const formats::TensorEntry* Find(std::string_view name) const;
  std::vector<std::string> Names() const;
  // The file that holds the tensor. REQUIRES: there is one.
  const std::string& FileOf(const std::string& name) const;

  // The same as TensorFile::Read. REQUIRES: the tensor exists.
  Status Read(const std::string& name, int64_t first, std::span<float> values) const;

 private:
  struct Place {
    size_t file = 0;
    const formats::TensorEntry* entry = nullptr;
  };

  static StatusOr<TensorSet> OpenShards(const std::string& directory, const std::string& index);
  Status Add(const std::string& path);
  Status CheckListed(const std::map<std::string, std::string>& listed,
                     const std::string& directory) const;

  std::string path_;
  std::vector<std::unique_ptr<TensorFile>> files_;
  std::map<std::string, Place, std::less<>> places_;
};

}  // namespace gp::interop
