#include "client/gateway/runs/sample_file.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace gp::gateway {
namespace {

constexpr std::streamoff kTailBytes = 512 << 10;

void CutText(std::string& text) {
  if (text.size() <= kSampleBytesMax) return;
  size_t size = kSampleBytesMax;
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) --size;
  text.resize(size);
}

}  // namespace

StatusOr<std::deque<Sample>> ReadNewestSamples(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return NotFound("{} cannot be read", path);
  const std::streamoff begin = std::max<std::streamoff>(0, file.tellg() - kTailBytes);
  file.seekg(begin);
  std::string line;
  if (begin > 0) std::getline(file, line);  // skip the first line, which may be incomplete
  std::deque<Sample> samples;
  while (std::getline(file, line)) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_object() || !json.contains("step") || !json["step"].is_number_integer()) continue;
    if (!json.contains("text") || !json["text"].is_string()) continue;
    AddSample({json["step"].get<int64_t>(), json["text"].get<std::string>()}, samples);
  }
  return samples;
}

void AddSample(Sample sample, std::deque<Sample>& samples) {
  CutText(sample.text);
  while (!samples.empty() && samples.back().step >= sample.step) samples.pop_back();
  samples.push_back(std::move(sample));
  if (samples.size() > kSamplesMax) samples.pop_front();
}

}  // namespace gp::gateway
