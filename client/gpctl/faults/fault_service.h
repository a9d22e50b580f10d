// FaultService: a coordinator and agents of their own, in a temporary directory, whose processes
// may be killed. Everything ends and the directory goes with this object. One thread uses it.
#pragma once

#include <string>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "client/api/interruption.h"
#include "client/gpctl/service/process.h"
#include "client/gpctl/terminal/console.h"

namespace gp::gpctl {

class FaultService {
 public:
  // `console` must outlive this object: its interruption ends the waits.
  explicit FaultService(const Console& console) : console_(console) {}
  ~FaultService();
  FaultService(const FaultService&) = delete;
  FaultService& operator=(const FaultService&) = delete;

  // Starts the coordinator and `agents` agents with `slots` slots each; returns when all have
  // registered.
  Status Start(int agents, int slots);

  const std::string& directory() const { return directory_; }
  // Of the coordinator's socket.
  std::string address() const { return "unix:" + JoinPath(directory_, "coordinator.sock"); }

  // With SIGKILL.
  void KillCoordinator();
  // Returns when it serves again.
  Status StartCoordinator();
  void KillAgent(size_t agent);
  // Starts agents that do not run; returns when they have registered.
  Status StartDeadAgents();

  // The trainers of all agents, by number.
  std::vector<int> Trainers() const;

 private:
  struct Daemon {
    std::string name;
    ProcessIdentity process;
  };

  Status StartDaemon(const std::string& program, std::vector<std::string> arguments,
                     Daemon& daemon);
  Status StartAgent(Daemon& agent);
  static void Kill(Daemon& daemon);

  const Console& console_;
  std::string directory_;
  int slots_ = 0;
  Daemon coordinator_{.name = "coordinator", .process = {}};
  std::vector<Daemon> agents_;
};

}  // namespace gp::gpctl
