// VisibleDevices: which GPUs may be used. The syntax is that of CUDA_VISIBLE_DEVICES: numbers (as
// nvidia-smi counts) and UUIDs or their prefixes, in order, up to the first that does not exist. A
// value; pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace gp::agent {

// The names of one GPU.
struct GpuNames {
  int index = 0;
  std::string uuid;
};

class VisibleDevices {
 public:
  // InvalidArgument if a word of `setting` cannot be the name of a GPU.
  static Status Check(std::string_view setting);

  // The GPUs of `setting` ("all", "none", or a list as above) that `environment` also allows: the
  // value of CUDA_VISIBLE_DEVICES, null when it is not set.
  VisibleDevices(std::string_view setting, const char* environment);

  // Indices into `gpus` of the GPUs that may be used, each once. MIG devices have the number of
  // their card; the number selects the first of them.
  std::vector<size_t> Choose(const std::vector<GpuNames>& gpus) const;

  // The first entry of the setting that matches none of `gpus`: it and later entries are not used.
  std::optional<std::string> FirstMissing(const std::vector<GpuNames>& gpus) const;

 private:
  struct List {
    bool all = false;
    std::vector<std::string> words;
  };
  static List Parse(std::string_view text);
  static std::vector<size_t> Choose(const List& list, const std::vector<GpuNames>& gpus);

  List setting_;
  List environment_{.all = true, .words = {}};
};

}  // namespace gp::agent
