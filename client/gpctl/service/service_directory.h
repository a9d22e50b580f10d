// ServiceDirectory: the state directory of 'gpctl up': its paths and the record of what runs there.
// Described in docs/formats/local-service.md. A value that reads and writes files. A lock makes
// sure that only one supervisor writes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "client/gpctl/service/process.h"
#include "daemon/state_lock.h"

namespace gp::gpctl {

// The processes of a state directory, in <state dir>/service.json. Processes that do not run have
// pid 0.
struct ServiceRecord {
  ProcessIdentity supervisor;
  ProcessIdentity coordinator;
  ProcessIdentity worker;
  ProcessIdentity gateway;
  ProcessIdentity monitoring;       // Prometheus
  std::string address;              // the coordinator's socket, unix:PATH
  std::string listen;               // HOST:PORT where it serves others; empty: nowhere
  std::string storage_root;         // where runs and checkpoints are
  std::string storage_identity;     // from its .gp-probe
  std::string coordinator_metrics;  // HOST:PORT
  std::string worker_metrics;
  std::string gateway_address;  // HOST:PORT of its pages and API
  std::string gateway_metrics;
  std::string monitoring_address;  // HOST:PORT of Prometheus, also while none runs
  std::string gateway_problem;     // why no gateway runs; empty when one does
  std::string monitoring_problem;  // why no Prometheus runs; empty when one does or none is wanted
  int workers = 0;                 // slots of CPU cores
  int cores = 0;                   // cores of these slots together
  std::vector<std::string> gpus;   // "NVIDIA H100, 80.0 GiB, sm_90"; one slot each
  // Why this machine's GPUs are not used; empty when they are, or when there are none.
  std::string gpu_problem;
  std::vector<std::string> data_roots;  // the worker's
  bool ready = false;                   // the worker has registered
};

// The identity in the .gp-probe of a storage root; empty if it cannot be read.
std::string StorageIdentity(const std::string& storage_root);

class ServiceDirectory {
 public:
  explicit ServiceDirectory(std::string root) : root_(std::move(root)) {}

  const std::string& root() const { return root_; }
  std::string Path(const std::string& name) const { return JoinPath(root_, name); }
  std::string CoordinatorState() const { return Path("coordinator"); }
  std::string WorkerState() const { return Path("worker"); }
  std::string Storage() const { return Path("storage"); }
  std::string Log(const std::string& program) const { return Path("logs/" + program + ".log"); }
  // The coordinator's socket.
  std::string Socket() const { return Path("coordinator.sock"); }
  std::string AddressFile(const std::string& program) const { return Path(program + ".address"); }

  // Makes the directories with access for this user only. ResourceExhausted or PermissionDenied
  // name the one that could not be made. FailedPrecondition when the directory exists with files
  // that others can read and that are not from 'gpctl up'.
  Status Create() const;

  // PermissionDenied, with the owner's name, when the directory belongs to another user. Always OK
  // for root.
  Status CheckOwner() const;

  // NotFound when nothing was ever started here; PermissionDenied as CheckOwner; DataLoss when the
  // file is damaged, FailedPrecondition when a newer gpctl wrote it. When the directory was moved,
  // a storage root in it is returned with its new path.
  StatusOr<ServiceRecord> Load() const;
  Status Save(const ServiceRecord& record) const;

  // The supervisor holds this lock while it runs; the kernel releases it when the process ends.
  // FailedPrecondition when another process holds it, on whatever host or in whatever container.
  StatusOr<daemon::StateLock> Lock() const;

  // Takes that lock and, where they exist, those of the coordinator, of the agent and of storage
  // roots in the directory, which may belong to another service. While the caller holds them, no
  // process uses the directory.
  StatusOr<std::vector<daemon::StateLock>> LockAll() const;

  // The process that holds the supervisor's lock now; nullopt when none does.
  std::optional<daemon::LockHolder> Holder() const;

  // Deletes the directory's contents, its lock last, and the directory unless it is a mount or a
  // symbolic link. The caller holds every lock.
  Status Remove() const;

  // Whether this is a directory that gpctl made (it has a lock and a coordinator's state), so that
  // it may be removed.
  bool IsOurs() const;

 private:
  Status CloseToOthers() const;
  std::string HolderText() const;
  // Those of the directory itself and the directories in it that are the storage of a coordinator.
  StatusOr<std::vector<std::string>> StorageRoots() const;

  std::string root_;
};

}  // namespace gp::gpctl
