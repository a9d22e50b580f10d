#include "client/gpctl/doctor/machine_checks.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "base/file.h"
#include "base/machine/open_files.h"
#include "base/machine/proc_field.h"
#include "base/machine/processor.h"
#include "client/gpctl/service/service_directory.h"
#include "client/gpctl/terminal/number_text.h"
#include "rpc/listen_address.h"

namespace gp::gpctl {
namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;
constexpr double kOldestPlausible = 1.75e9;  // 2025: this program did not exist before

uint64_t KibibytesOf(const std::string& meminfo, const std::string& name) {
  return std::strtoull(ProcField(meminfo, name).c_str(), nullptr, 10) * 1024;
}

// `path`, or the nearest directory above it that exists: the state directory may not exist yet.
std::string ExistingParent(std::string path) {
  while (!FileExists(path) && path != "/" && !path.empty()) path = DirectoryOf(path);
  return path.empty() ? "/" : path;
}

}  // namespace

Check CheckProcessor(const std::string& cpuinfo, int cores) {
  const auto [model, isa] = ParseProcessor(cpuinfo);
  Check check{
      .subject = "processor",
      .finding = fmt::format("{} cores, {}, {}", cores, model.empty() ? "unknown model" : model,
                             isa.empty() ? "neither AVX2 nor AVX-512" : isa)};
  if (isa.empty()) {
    check.grade = Grade::kWarning;
    check.fix = "training works but is several times slower; use a machine with AVX2";
  }
  return check;
}

Check CheckMemory(const std::string& meminfo) {
  const uint64_t total = KibibytesOf(meminfo, "MemTotal");
  const uint64_t available = KibibytesOf(meminfo, "MemAvailable");
  Check check{.subject = "memory",
              .finding = fmt::format("{}, {} free", Bytes(total), Bytes(available))};
  if (available < kGiB / 2) {
    check.grade = Grade::kFail;
    check.fix = "the demo needs 0.5 GiB; close other programs";
  } else if (available < 2 * kGiB) {
    check.grade = Grade::kWarning;
    check.fix = "enough for the demo; GPT-2 124M needs about 4 GiB for each worker";
  }
  return check;
}

Check CheckDisk(const std::string& directory) {
  const auto free = FreeBytes(ExistingParent(directory));
  if (!free.ok())
    return {Grade::kFail, "disk", Message(free.status()), "choose another place with --state-dir"};
  Check check{.subject = "disk", .finding = fmt::format("{} free for {}", Bytes(*free), directory)};
  if (*free < kGiB / 4) {
    check.grade = Grade::kFail;
    check.fix =
        "checkpoints would not fit; free some space or choose another place with --state-dir";
  } else if (*free < 5 * kGiB) {
    check.grade = Grade::kWarning;
    check.fix = "enough for small models; a checkpoint of GPT-2 124M takes 1.5 GB";
  }
  return check;
}

Check CheckStateDirectory(const std::string& directory) {
  constexpr char kWayOut[] = "choose a place of your own with --state-dir";
  const Status owner = ServiceDirectory(directory).CheckOwner();
  if (!owner.ok()) return {Grade::kFail, "state", Message(owner), kWayOut};
  const std::string parent = ExistingParent(directory);
  if (faccessat(AT_FDCWD, (parent + "/").c_str(), W_OK | X_OK, AT_EACCESS) == 0) {
    return {.subject = "state", .finding = directory};
  }
  return {Grade::kFail, "state", Message(ErrnoStatus(errno, "write in", parent)), kWayOut};
}

Check CheckOpenFiles() {
  const Status allowed = AllowManyOpenFiles();
  if (!allowed.ok()) return {Grade::kFail, "open files", Message(allowed)};
  return {.subject = "open files", .finding = "as many as the programs need"};
}

Check CheckStorage(const std::string& root, const std::string& identity, const std::string& adopt) {
  const std::string found = StorageIdentity(root);
  if (found == identity) return {.subject = "storage", .finding = root};
  return {Grade::kFail, "storage",
          fmt::format("{} is not the storage of this service: its .gp-probe is {}", root,
                      found.empty() ? "missing" : "of another one"),
          fmt::format("mount its file system, or accept what is there now with '{}'", adopt)};
}

Check CheckClock(double now) {
  Check check{.subject = "clock", .finding = DateTimeText(static_cast<int64_t>(now))};
  if (now < kOldestPlausible) {
    check.grade = Grade::kWarning;
    check.fix =
        "the clock is wrong; times in logs and events will be too: set it, or run a time service";
  }
  return check;
}

Check CheckConfinement(const confinement::Offer& offer) {
  Check check{.subject = "confinement",
              .finding = "trainers and samplers: " + (offer.has.empty() ? "nothing" : offer.has)};
  if (offer.missing.empty()) return check;
  check.grade = Grade::kWarning;
  check.finding += "; the kernel lacks " + offer.missing;
  check.fix = "take runs only from people who may read what this user can read";
  return check;
}

Check CheckPorts() {
  const Status status = rpc::CheckBindable({.host = "127.0.0.1", .port = 0});
  if (status.ok()) return {.subject = "ports", .finding = "loopback ports can be opened"};
  return {Grade::kFail, "ports", Message(status), "let programs listen on 127.0.0.1"};
}

}  // namespace gp::gpctl
