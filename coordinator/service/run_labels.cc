#include "coordinator/service/run_labels.h"

#include <fmt/format.h>

#include <filesystem>

namespace gp::coordinator {
namespace {

const std::vector<std::string>& SourcesOf(const runspec::DataSpec& data) {
  if (!data.text.empty()) return data.text;
  return data.train.empty() ? data.stream : data.train;
}

// Returns "wiki" for "/data/wiki/" and for "/data/wiki".
std::string LastPart(const std::string& path) {
  const std::filesystem::path whole(path);
  return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
}

}  // namespace

std::string ModelLabel(const runspec::ModelShape& shape) {
  for (const std::string& name : runspec::ModelNames()) {
    const runspec::ModelShape named = runspec::NamedModelShape(name).value();
    const bool same = named.layers == shape.layers && named.heads == shape.heads &&
                      named.channels == shape.channels;
    if (same) return name;
  }
  return fmt::format("L{} H{} C{}", shape.layers, shape.heads, shape.channels);
}

std::string DatasetLabel(const runspec::DataSpec& data) {
  const std::vector<std::string>& sources = SourcesOf(data);
  if (sources.empty()) return "";
  const std::string first = LastPart(sources.front());
  return sources.size() == 1 ? first : fmt::format("{} +{}", first, sources.size() - 1);
}

std::string PrecisionLabel(runspec::Precision precision) {
  switch (precision) {
    case runspec::Precision::kFp32:
      return "fp32";
    case runspec::Precision::kBf16:
      return "bf16";
    case runspec::Precision::kTf32:
      return "tf32";
    case runspec::Precision::kFp16:
      return "fp16";
    case runspec::Precision::kFp8:
      return "fp8";
    case runspec::Precision::kAuto:
      return "auto";
  }
  return "";
}

}  // namespace gp::coordinator
