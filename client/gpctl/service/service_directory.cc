#include "client/gpctl/service/service_directory.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "client/gpctl/service/versioned_file.h"

namespace gp::gpctl {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kSizeBytesMax = 1 << 20;
constexpr char kLockName[] = "lock";

FileFormat ServiceFormat() { return {}; }

Json ToJson(const ProcessIdentity& process) {
  return {{"pid", process.pid}, {"start_time", process.start_time}, {"program", process.program}};
}

ProcessIdentity ProcessOf(const Json& json) {
  return {json.at("pid").get<int>(), json.at("start_time").get<uint64_t>(),
          json.at("program").get<std::string>()};
}

Json ToJson(const ServiceRecord& record) {
  return {{"apiVersion", ServiceFormat().ApiVersion()},
          {"kind", "LocalService"},
          {"supervisor", ToJson(record.supervisor)},
          {"coordinator", ToJson(record.coordinator)},
          {"worker", ToJson(record.worker)},
          {"gateway", ToJson(record.gateway)},
          {"monitoring", ToJson(record.monitoring)},
          {"address", record.address},
          {"listen", record.listen},
          {"storage_root", record.storage_root},
          {"storage_identity", record.storage_identity},
          {"coordinator_metrics", record.coordinator_metrics},
          {"worker_metrics", record.worker_metrics},
          {"gateway_address", record.gateway_address},
          {"gateway_metrics", record.gateway_metrics},
          {"monitoring_address", record.monitoring_address},
          {"gateway_problem", record.gateway_problem},
          {"monitoring_problem", record.monitoring_problem},
          {"workers", record.workers},
          {"cores", record.cores},
          {"gpus", record.gpus},
          {"gpu_problem", record.gpu_problem},
          {"data_roots", record.data_roots},
          {"ready", record.ready}};
}

ServiceRecord RecordOf(const Json& json) {
  return {
      .supervisor = ProcessOf(json.at("supervisor")),
      .coordinator = ProcessOf(json.at("coordinator")),
      .worker = ProcessOf(json.at("worker")),
      .gateway = ProcessOf(json.at("gateway")),
      .monitoring = ProcessOf(json.at("monitoring")),
      .address = json.at("address").get<std::string>(),
      .listen = json.at("listen").get<std::string>(),
      .storage_root = json.at("storage_root").get<std::string>(),
      .storage_identity = json.value("storage_identity", ""),  // absent in older records
      .coordinator_metrics = json.at("coordinator_metrics").get<std::string>(),
      .worker_metrics = json.at("worker_metrics").get<std::string>(),
      .gateway_address = json.at("gateway_address").get<std::string>(),
      .gateway_metrics = json.at("gateway_metrics").get<std::string>(),
      .monitoring_address = json.at("monitoring_address").get<std::string>(),
      .gateway_problem = json.at("gateway_problem").get<std::string>(),
      .monitoring_problem = json.value("monitoring_problem", ""),  // as storage_identity
      .workers = json.at("workers").get<int>(),
      .cores = json.at("cores").get<int>(),
      .gpus = json.at("gpus").get<std::vector<std::string>>(),
      .gpu_problem = json.at("gpu_problem").get<std::string>(),
      .data_roots = json.value("data_roots", std::vector<std::string>()),  // as storage_identity
      .ready = json.at("ready").get<bool>()};
}

// The owner of `path`. When this user cannot enter a directory on the way to it, the owner of the
// last directory that can be read. Nullopt when `path` does not exist.
std::optional<uid_t> OwnerOf(std::string path) {
  struct stat status {};
  if (stat(path.c_str(), &status) == 0) return status.st_uid;
  if (errno != EACCES) return std::nullopt;
  while (path != "/" && stat(path.c_str(), &status) != 0) path = DirectoryOf(path);
  return status.st_uid;
}

// The current path of the record's storage root, when the state directory is now at `root`. A
// storage root inside the state directory has moved with it. The record's coordinator socket shows
// where the state directory was.
std::string MovedStorage(const ServiceRecord& record, const std::string& root) {
  constexpr std::string_view kSocket = "/coordinator.sock", kUnix = "unix:";
  if (!record.address.starts_with(kUnix) || !record.address.ends_with(kSocket)) {
    return record.storage_root;
  }
  const std::string before =
      record.address.substr(kUnix.size(), record.address.size() - kUnix.size() - kSocket.size());
  if (!record.storage_root.starts_with(before + "/")) return record.storage_root;
  return JoinPath(root, record.storage_root.substr(before.size() + 1));
}

std::string UserName(uid_t user) {
  const passwd* entry = getpwuid(user);
  return entry == nullptr ? std::to_string(user) : entry->pw_name;
}

}  // namespace

std::string StorageIdentity(const std::string& storage_root) {
  return ReadFile(JoinPath(storage_root, ".gp-probe"), 4096).value_or("");
}

Status ServiceDirectory::Create() const {
  RETURN_IF_ERROR(CheckOwner());
  RETURN_IF_ERROR(MakeDirectories(root_, 0700));
  RETURN_IF_ERROR(CloseToOthers());
  for (const std::string& path : {CoordinatorState(), WorkerState(), Path("logs")}) {
    RETURN_IF_ERROR(MakeDirectories(path, 0700));
  }
  return OkStatus();
}

Status ServiceDirectory::CheckOwner() const {
  const uid_t user = geteuid();
  const auto owner = OwnerOf(root_);
  if (!owner || *owner == user || user == 0) return OkStatus();
  return PermissionDenied("the service in {} is not yours: it belongs to user '{}'", root_,
                          UserName(*owner));
}

Status ServiceDirectory::CloseToOthers() const {
  struct stat status {};
  if (stat(root_.c_str(), &status) != 0) return ErrnoStatus(errno, "look at", root_);
  if ((status.st_mode & 077) == 0) return OkStatus();
  ASSIGN_OR_RETURN(const auto names, ListDirectory(root_));
  if (!names.empty() && !IsOurs()) {
    return FailedPrecondition(
        "{} contains other files, and other users can read it; choose a directory of its own with "
        "--state-dir",
        root_);
  }
  if (chmod(root_.c_str(), 0700) != 0) return ErrnoStatus(errno, "restrict access to", root_);
  return OkStatus();
}

StatusOr<ServiceRecord> ServiceDirectory::Load() const {
  RETURN_IF_ERROR(CheckOwner());
  const std::string path = Path("service.json");
  if (!FileExists(path)) {
    return NotFound("no service was started in {}; start one with 'gpctl up --state-dir {}'", root_,
                    root_);
  }
  ASSIGN_OR_RETURN(const std::string text, ReadVersionedFile(path, kSizeBytesMax, ServiceFormat()));
  try {
    ServiceRecord record = RecordOf(Json::parse(text));
    record.storage_root = MovedStorage(record, root_);
    return record;
  } catch (const Json::exception& error) {
    return DataLoss(
        "{} is damaged: {}; expected the record that 'gpctl up' writes. Stop the service by "
        "its process number ({}), remove the file, then 'gpctl up' continues the runs",
        path, error.what(), HolderText());
  }
}

std::string ServiceDirectory::HolderText() const {
  const auto holder = Holder();
  return holder ? holder->Description(daemon::LockHolder::Self(SystemClock()))
                : "nothing holds its lock";
}

Status ServiceDirectory::Save(const ServiceRecord& record) const {
  return WriteFileAtomically(Path("service.json"), ToJson(record).dump(2) + "\n", 0600);
}

StatusOr<daemon::StateLock> ServiceDirectory::Lock() const {
  return daemon::StateLock::Acquire(root_, kLockName, "'gpctl up'");
}

StatusOr<std::vector<daemon::StateLock>> ServiceDirectory::LockAll() const {
  struct Place {
    std::string directory;
    const char* name;
    const char* user;
  };
  const Place places[] = {{root_, kLockName, "'gpctl up'"},
                          {CoordinatorState(), daemon::kCoordinatorLockName, "a coordinator"},
                          {WorkerState(), daemon::kAgentLockName, "a gp-worker"}};
  std::vector<daemon::StateLock> locks;
  for (const Place& place : places) {
    if (!FileExists(place.directory)) continue;
    ASSIGN_OR_RETURN(auto lock,
                     daemon::StateLock::Acquire(place.directory, place.name, place.user));
    locks.push_back(std::move(lock));
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> roots, StorageRoots());
  for (const std::string& root : roots) {
    ASSIGN_OR_RETURN(auto lock, daemon::StateLock::AcquireStorage(root, "a coordinator"));
    locks.push_back(std::move(lock));
  }
  return locks;
}

StatusOr<std::vector<std::string>> ServiceDirectory::StorageRoots() const {
  std::vector<std::string> roots;
  ASSIGN_OR_RETURN(const auto names, ListDirectory(root_));
  for (const std::string& name : names) {
    if (FileExists(JoinPath(Path(name), daemon::kStorageLockName))) roots.push_back(Path(name));
  }
  if (FileExists(Path(daemon::kStorageLockName))) roots.push_back(root_);
  return roots;
}

std::optional<daemon::LockHolder> ServiceDirectory::Holder() const {
  return daemon::StateLock::HolderOf(root_, kLockName);
}

Status ServiceDirectory::Remove() const {
  ASSIGN_OR_RETURN(const auto names, ListDirectory(root_));
  for (const std::string& name : names) {
    if (name != kLockName) RETURN_IF_ERROR(RemoveTree(Path(name)));
  }
  RETURN_IF_ERROR(RemoveTree(Path(kLockName)));
  // A mounted directory, such as a container's volume, can only be emptied. A symbolic link stays.
  if (rmdir(root_.c_str()) == 0 || errno == EBUSY) return OkStatus();
  const int error = errno;
  return std::filesystem::is_symlink(root_) ? OkStatus() : ErrnoStatus(error, "remove", root_);
}

bool ServiceDirectory::IsOurs() const {
  return FileExists(Path(kLockName)) && FileExists(CoordinatorState());
}

}  // namespace gp::gpctl
