#include "client/gpctl/service/service_directory.h"

#include <nlohmann/json.hpp>

namespace gp::gpctl {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kSizeBytesMax = 1 << 20;

Json ToJson(const ProcessIdentity& process) {
  return {{"pid", process.pid}, {"start_time", process.start_time}, {"program", process.program}};
}

ProcessIdentity ProcessOf(const Json& json) {
  return {json.at("pid").get<int>(), json.at("start_time").get<uint64_t>(),
          json.at("program").get<std::string>()};
}

Json ToJson(const ServiceRecord& record) {
  return {{"apiVersion", "gp/v1"},
          {"kind", "LocalService"},
          {"supervisor", ToJson(record.supervisor)},
          {"coordinator", ToJson(record.coordinator)},
          {"worker", ToJson(record.worker)},
          {"address", record.address},
          {"coordinator_metrics", record.coordinator_metrics},
          {"worker_metrics", record.worker_metrics},
          {"workers", record.workers},
          {"gpus", record.gpus},
          {"gpu_problem", record.gpu_problem},
          {"ready", record.ready}};
}

ServiceRecord RecordOf(const Json& json) {
  return {.supervisor = ProcessOf(json.at("supervisor")),
          .coordinator = ProcessOf(json.at("coordinator")),
          .worker = ProcessOf(json.at("worker")),
          .address = json.at("address").get<std::string>(),
          .coordinator_metrics = json.at("coordinator_metrics").get<std::string>(),
          .worker_metrics = json.at("worker_metrics").get<std::string>(),
          .workers = json.at("workers").get<int>(),
          .gpus = json.value("gpus", std::vector<std::string>()),  // absent in older records
          .gpu_problem = json.value("gpu_problem", ""),
          .ready = json.at("ready").get<bool>()};
}

}  // namespace

Status ServiceDirectory::Create() const {
  RETURN_IF_ERROR(MakeDirectories(root_, 0700));
  for (const std::string& path : {CoordinatorState(), WorkerState(), Storage(), Path("logs")}) {
    RETURN_IF_ERROR(MakeDirectories(path, 0700));
  }
  return OkStatus();
}

StatusOr<ServiceRecord> ServiceDirectory::Load() const {
  const std::string path = Path("service.json");
  if (!FileExists(path)) {
    return NotFound("no service was started in {}; start one with 'gpctl up --state-dir {}'", root_,
                    root_);
  }
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kSizeBytesMax));
  try {
    return RecordOf(Json::parse(text));
  } catch (const Json::exception& error) {
    return DataLoss("{}: {}; expected the record that 'gpctl up' writes", path, error.what());
  }
}

Status ServiceDirectory::Save(const ServiceRecord& record) const {
  return WriteFileAtomically(Path("service.json"), ToJson(record).dump(2) + "\n", 0600);
}

StatusOr<daemon::StateLock> ServiceDirectory::Lock() const {
  return daemon::StateLock::Acquire(root_, "lock", "'gpctl up'");
}

bool ServiceDirectory::IsOurs() const {
  return FileExists(Path("lock")) && FileExists(CoordinatorState());
}

}  // namespace gp::gpctl
