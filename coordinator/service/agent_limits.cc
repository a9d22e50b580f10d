#include "coordinator/service/agent_limits.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "base/text/utf8.h"

namespace gp::coordinator {
namespace {

constexpr int kCoresMax = 8192;
constexpr int kLevelsMax = 64;
constexpr size_t kKernelsBytesMax = 64 << 10;

// A text with its name in messages.
using NamedText = std::pair<const char*, const std::string&>;

Status CheckNames(std::initializer_list<NamedText> names) {
  for (const auto& [what, text] : names) {
    const bool printable =
        std::all_of(text.begin(), text.end(), [](const char c) { return c >= ' ' && c <= '~'; });
    if (text.size() > kNameBytesMax || !printable) {
      return InvalidArgument("{} has {} bytes; expected printable ASCII, at most {}", what,
                             text.size(), kNameBytesMax);
    }
  }
  return OkStatus();
}

Status CheckLength(const char* what, const std::string& text, size_t bytes_max) {
  if (text.size() <= bytes_max) return OkStatus();
  return InvalidArgument("{} has {} bytes; at most {} are accepted", what, text.size(), bytes_max);
}

Status CheckCount(const char* what, int count, int count_max) {
  if (count <= count_max) return OkStatus();
  return InvalidArgument("{} {} are too many; at most {} are accepted", count, what, count_max);
}

Status CheckOffer(const v1::EngineOffer& offer) {
  RETURN_IF_ERROR(CheckCount("instruction-set levels", offer.isa_levels_size(), kLevelsMax));
  for (const std::string& level : offer.isa_levels()) {
    RETURN_IF_ERROR(CheckNames({{"an instruction-set level", level}}));
  }
  size_t bytes = 0;
  for (const auto& [level, choices] : offer.kernels()) bytes += level.size() + choices.size();
  if (bytes > kKernelsBytesMax) {
    return InvalidArgument("the kernel choices have {} bytes; at most {} are accepted", bytes,
                           kKernelsBytesMax);
  }
  return CheckLength("an NCCL id", offer.nccl_id(), kTextBytesMax);
}

Status CheckRank(const v1::RankStatus& rank) {
  RETURN_IF_ERROR(CheckNames({{"a rank's run", rank.run_id()},
                              {"a rank's slot", rank.slot_id()},
                              {"a rank's incarnation", rank.incarnation()},
                              {"a rank's address", rank.address()}}));
  RETURN_IF_ERROR(CheckOffer(rank.offer()));
  for (const v1::WrittenCheckpoint& written : rank.written()) {
    RETURN_IF_ERROR(CheckLength("a checkpoint's directory", written.directory(), kPathBytesMax));
    RETURN_IF_ERROR(CheckNames({{"a manifest's digest", written.manifest_digest()}}));
  }
  return OkStatus();
}

template <typename Ranks>
Status CheckRanks(const Ranks& ranks) {
  RETURN_IF_ERROR(CheckCount("ranks", ranks.size(), kRanksMax));
  for (const v1::RankStatus& rank : ranks) RETURN_IF_ERROR(CheckRank(rank));
  return OkStatus();
}

}  // namespace

Status CheckLimits(const v1::AgentHello& hello) {
  RETURN_IF_ERROR(CheckNames({{"the node's id", hello.node_id()},
                              {"the node's name", hello.name()},
                              {"the agent's incarnation", hello.incarnation()},
                              {"the agent's version", hello.version()},
                              {"the node's data address", hello.data_address()},
                              {"the node's GPU driver", hello.gpu_driver()}}));
  RETURN_IF_ERROR(CheckLength("the storage root", hello.storage_root(), kPathBytesMax));
  RETURN_IF_ERROR(CheckLength("the storage probe", hello.storage_probe(), kTextBytesMax));
  RETURN_IF_ERROR(CheckCount("slots", hello.slots_size(), kSlotsMax));
  for (const v1::Slot& slot : hello.slots()) {
    RETURN_IF_ERROR(CheckNames({{"a slot's id", slot.slot_id()},
                                {"a slot's device", slot.device()},
                                {"a slot's device name", slot.device_name()},
                                {"a slot's compute capability", slot.compute_capability()}}));
    RETURN_IF_ERROR(CheckCount("cores of a slot", slot.cores_size(), kCoresMax));
  }
  RETURN_IF_ERROR(CheckCount("data roots", hello.data_roots().paths_size(), kDataRootsMax));
  for (const std::string& path : hello.data_roots().paths()) {
    RETURN_IF_ERROR(CheckLength("a data root", path, kPathBytesMax));
  }
  return CheckRanks(hello.ranks());
}

Status CheckLimits(const v1::AgentReport& report) {
  RETURN_IF_ERROR(CheckCount("slots with a problem",
                             static_cast<int>(report.slot_problems().size()), kSlotsMax));
  for (const auto& [slot, problem] : report.slot_problems()) {
    RETURN_IF_ERROR(CheckNames({{"a slot's id", slot}}));
  }
  return CheckRanks(report.ranks());
}

std::string CutText(const std::string& text) {
  return ValidUtf8(std::string_view(text).substr(0, kTextBytesMax), '?');
}

}  // namespace gp::coordinator
