// CommandSet: the commands of gpctl, their flags and what they run. Built by RunGpctl before
// parsing; used by its thread only.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/command_line.h"
#include "base/status.h"
#include "client/gpctl/session/exit_code.h"
#include "client/gpctl/session/session.h"

namespace gp::gpctl {

// Runs a parsed command. An error becomes a message on stderr and the exit code that fits it.
using Action = std::function<StatusOr<ExitCode>(Session&)>;

class CommandSet {
 public:
  // The program's command line and the options must outlive this object.
  CommandSet(Command program, GlobalOptions& options);

  // A command of its own, listed in `gpctl help` under `group`.
  Command Add(const std::string& name, const std::string& group, const std::string& summary);
  // The same for a command whose own flag -o names the file that it writes. It prints no JSON.
  Command AddWriter(const std::string& name, const std::string& group, const std::string& summary);
  // A verb below a noun: `ckpt list`.
  Command AddVerb(Command noun, const std::string& name, const std::string& summary);

  // The same as AddWriter.
  Command AddWriterVerb(Command noun, const std::string& name, const std::string& summary);

  void Bind(Command command, Action action) { actions_[command] = std::move(action); }

  // Null when the command only groups verbs.
  const Action* Find(Command command) const;
  Command program() const { return program_; }

 private:
  Command program_;
  GlobalOptions& options_;
  std::map<Command, Action> actions_;
};

// The help of one command, with its full name in the usage line.
std::string HelpOf(Command command);

// Adds every command, in the order of `gpctl help`. To add one, add a line in command_set.cc.
void AddAllCommands(CommandSet& commands);

}  // namespace gp::gpctl
