#include "client/gpctl/render/use_text.h"

#include <fmt/format.h>

#include "client/gpctl/terminal/number_text.h"

namespace gp::gpctl {
namespace {

constexpr char kUnknown[] = "-";

double ShareOf(double used, double all) { return all > 0 ? used / all : -1; }

// "6.0 of 16.0 GiB": both in the unit of the larger one.
std::string BytesOf(uint64_t used, uint64_t all) {
  const std::string total = Bytes(all);
  const std::string unit = total.substr(total.find(' '));
  double size = 1;
  for (const char* name : {" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"}) {
    if (unit == name) break;
    size *= 1024;
  }
  return fmt::format("{:.1f} of {}", static_cast<double>(used) / size, total);
}

}  // namespace

std::string UseText(const v1::ResourceUse& use) {
  return fmt::format("{:.1f} cores, {}", use.cores(), Bytes(use.memory_bytes()));
}

std::string CoresText(const v1::ResourceUse& use) { return fmt::format("{:.1f}", use.cores()); }

double CoresShare(const v1::Node& node) {
  const v1::MachineLoad& load = node.load();
  const bool known = load.memory_bytes() > 0 && load.busy_cores() >= 0;
  return known ? ShareOf(load.busy_cores(), load.cores()) : -1;
}

double MemoryShare(const v1::Node& node) {
  const auto all = static_cast<double>(node.load().memory_bytes());
  return ShareOf(all - static_cast<double>(node.load().available_memory_bytes()), all);
}

double DiskShare(const v1::Node& node) {
  const auto all = static_cast<double>(node.load().storage_bytes());
  return ShareOf(all - static_cast<double>(node.load().free_storage_bytes()), all);
}

std::string CoresText(const v1::Node& node) {
  if (CoresShare(node) < 0) return kUnknown;
  return fmt::format("{:.1f} of {}", node.load().busy_cores(), node.load().cores());
}

std::string MemoryText(const v1::Node& node) {
  const v1::MachineLoad& load = node.load();
  if (load.memory_bytes() == 0) return kUnknown;
  return BytesOf(load.memory_bytes() - load.available_memory_bytes(), load.memory_bytes());
}

std::string FreeDiskText(const v1::Node& node) {
  if (node.load().storage_bytes() == 0) return kUnknown;
  return Bytes(node.load().free_storage_bytes());
}

}  // namespace gp::gpctl
