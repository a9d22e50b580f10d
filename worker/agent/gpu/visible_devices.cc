#include "worker/agent/gpu/visible_devices.h"

#include <algorithm>
#include <charconv>

namespace gp::agent {
namespace {

std::string_view Trimmed(std::string_view word) {
  while (!word.empty() && word.front() == ' ') word.remove_prefix(1);
  while (!word.empty() && word.back() == ' ') word.remove_suffix(1);
  return word;
}

bool CanBeAName(const std::string& word) {
  const bool is_number = !word.empty() && std::all_of(word.begin(), word.end(),
                                                      [](char c) { return '0' <= c && c <= '9'; });
  return is_number || word.starts_with("GPU-") || word.starts_with("MIG-");
}

bool IsCalled(const GpuNames& gpu, const std::string& word) {
  int number = 0;
  const char* end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, number);
  if (error == std::errc() && stop == end) return number == gpu.index;
  return !word.empty() && gpu.uuid.starts_with(word);
}

std::optional<size_t> Find(const std::vector<GpuNames>& gpus, const std::string& word) {
  const auto found = std::find_if(gpus.begin(), gpus.end(),
                                  [&](const GpuNames& gpu) { return IsCalled(gpu, word); });
  if (found == gpus.end()) return std::nullopt;
  return static_cast<size_t>(found - gpus.begin());
}

bool Contains(const std::vector<size_t>& indices, size_t index) {
  return std::find(indices.begin(), indices.end(), index) != indices.end();
}

}  // namespace

VisibleDevices::VisibleDevices(std::string_view setting, const char* environment)
    : setting_(Parse(setting)) {
  if (environment != nullptr) environment_ = Parse(environment);
}

Status VisibleDevices::Check(std::string_view setting) {
  for (const std::string& word : Parse(setting).words) {
    if (CanBeAName(word)) continue;
    return InvalidArgument(
        "'{}' in '{}' is not a GPU; expected all, none, or numbers and UUIDs (GPU-…, MIG-…) with "
        "commas between them, as nvidia-smi -L lists them",
        word, setting);
  }
  return OkStatus();
}

VisibleDevices::List VisibleDevices::Parse(std::string_view text) {
  text = Trimmed(text);
  if (text == "all") return {.all = true, .words = {}};
  List list;
  if (text.empty() || text == "none" || text == "NoDevFiles") return list;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t comma = std::min(text.find(',', begin), text.size());
    list.words.emplace_back(Trimmed(text.substr(begin, comma - begin)));
    begin = comma + 1;
  }
  return list;
}

std::vector<size_t> VisibleDevices::Choose(const List& list, const std::vector<GpuNames>& gpus) {
  std::vector<size_t> chosen;
  if (list.all) {
    for (size_t i = 0; i < gpus.size(); ++i) chosen.push_back(i);
    return chosen;
  }
  for (const std::string& word : list.words) {
    const auto found = Find(gpus, word);
    if (!found) break;
    if (!Contains(chosen, *found)) chosen.push_back(*found);
  }
  return chosen;
}

std::vector<size_t> VisibleDevices::Choose(const std::vector<GpuNames>& gpus) const {
  const std::vector<size_t> allowed = Choose(environment_, gpus);
  std::vector<size_t> chosen = Choose(setting_, gpus);
  if (setting_.all) return allowed;
  std::erase_if(chosen, [&](size_t index) { return !Contains(allowed, index); });
  return chosen;
}

std::optional<std::string> VisibleDevices::FirstMissing(const std::vector<GpuNames>& gpus) const {
  for (const std::string& word : setting_.words) {
    if (!Find(gpus, word)) return word;
  }
  return std::nullopt;
}

}  // namespace gp::agent
