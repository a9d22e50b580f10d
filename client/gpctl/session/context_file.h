// Contexts: the coordinators that gpctl can talk to. The user's file
// ($XDG_CONFIG_HOME/gpctl/config.yaml) holds named ones; each state directory of 'gpctl up' holds
// its own in a file called "context". Values and files; no thread rules.
#pragma once

#include <map>
#include <string>

#include "base/status.h"
#include "client/gpctl/terminal/console.h"

namespace gp::gpctl {

struct Context {
  std::string server;         // HOST:PORT or unix:PATH
  std::string state_dir;      // the local service's directory; empty for a server elsewhere
  std::string token_file;     // from 'gpctl login'; empty: no token is sent
  std::string ca_file;        // authorities of the server's certificate; empty: no TLS
  std::string run_namespace;  // used without --namespace; empty: the run file's, or any
};

struct ContextFile {
  std::string current;
  std::map<std::string, Context> contexts;
};

// $XDG_CONFIG_HOME/gpctl/config.yaml, or below ~/.config.
std::string ContextFilePath(const Console& console);
// $XDG_STATE_HOME/gp, or below ~/.local/state: where 'gpctl up' keeps everything unless told
// otherwise.
std::string DefaultStateDirectory(const Console& console);

// A missing file counts as empty. InvalidArgument names the file, line and expected value;
// FailedPrecondition: a newer gpctl wrote it.
StatusOr<ContextFile> LoadContextFile(const std::string& path);
Status SaveContextFile(const std::string& path, const ContextFile& file);

// The context of one state directory. NotFound when 'gpctl up' has not run there; other errors as
// above.
StatusOr<Context> LoadStateContext(const std::string& state_dir);
Status SaveStateContext(const std::string& state_dir, const Context& context);

}  // namespace gp::gpctl
