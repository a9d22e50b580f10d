// Session: one invocation of gpctl: its global flags, its console and its coordinator. Owned by
// RunGpctl; used by its thread only.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/api/access_client.h"
#include "client/api/run_client.h"
#include "client/gpctl/render/run_text.h"
#include "client/gpctl/session/context_file.h"
#include "client/gpctl/terminal/console.h"

namespace gp::gpctl {

struct GlobalOptions {
  std::string server;
  std::string context;
  std::string state_dir;
  std::string run_namespace;
  std::string output = "text";  // text | json | yaml
  std::string timeout = "15s";
  bool no_color = false;
};

class Session {
 public:
  Session(GlobalOptions options, Console& console);

  const GlobalOptions& options() const { return options_; }
  Console& console() { return console_; }
  const Console& console() const { return console_; }
  bool json() const { return options_.output == "json"; }
  bool utf8() const { return console_.Utf8(); }
  // Columns for text that is cut to fit; 0 (no limit) when the output is not a terminal.
  int width() const { return console_.out_is_terminal ? console_.Size().columns : 0; }
  TextStyle style() const {
    return {width(), utf8(), console_.Animated(),
            console_.out_is_terminal ? console_.Size().rows : 0};
  }
  // Seconds since 1970 by the coordinator's clock once it has answered, because displayed times
  // come from it; before that by this machine's clock.
  double Now() const;

  // Where 'gpctl up' keeps the service: --state-dir, GPCTL_STATE_DIR or the default; absolute.
  std::string StateDirectory() const;
  // The service that commands talk to: --server, --state-dir, --context, then GPCTL_SERVER,
  // GPCTL_STATE_DIR, GPCTL_CONTEXT, then the context file. Its server is empty when no service was
  // ever started in its state directory. Unavailable when no service is named; NotFound for an
  // unknown context.
  StatusOr<Context> Service() const;
  // HOST:PORT or unix:PATH of that service.
  StatusOr<std::string> ServerAddress() const;
  // The state directory of that service; the default one if no service is named. InvalidArgument if
  // it was not started by 'gpctl up' on this machine.
  StatusOr<std::string> ServiceDirectoryPath() const;

  // `command` ("watch mine") as it can be typed next, for the service of this invocation.
  std::string Hint(const std::string& command) const;
  // The same for the service in `state_dir`; the command does not depend on the current context.
  std::string HintFor(const std::string& state_dir, const std::string& command) const;

  // Whether the newest answer said that the coordinator serves a port without TLS; if so, prints a
  // one-line warning on the error stream. REQUIRES: Client() was called.
  bool WarnIfInsecure();

  // The client of the coordinator; made at the first call. It prints to the error stream when it
  // has waited a second for the coordinator, and does not wait for a local service that is stopped.
  StatusOr<client::RunClient*> Client();
  // Another client of the same coordinator, for threads that are stopped separately; they call
  // `on_waiting` when the coordinator cannot be reached.
  StatusOr<std::unique_ptr<client::RunClient>> NewClient(
      client::Interruption& interruption,
      std::function<void(const std::string&)> on_waiting = nullptr) const;

  // A client for tokens and the audit log of the same coordinator.
  StatusOr<std::unique_ptr<client::AccessClient>> NewAccessClient() const;

  // --namespace, or that of the context; empty: none given. "*" means every namespace; not allowed
  // for naming a run.
  std::string Namespace() const;
  std::string NamespaceOfRuns() const;

  // The reference with the namespace of this invocation, unless it has one.
  std::string WithNamespace(const std::string& reference) const;

  // The run with this name, id, unique prefix of an id, or "@last". NotFound suggests the nearest
  // name or says that the prefix is ambiguous; both give exit code 3.
  StatusOr<v1::Run> FindRun(const std::string& reference);

 private:
  // Address, credentials and TLS of the service of this invocation.
  StatusOr<client::RunClientOptions> ClientOptions() const;
  std::string OtherServices() const;
  Status ExplainMissingRun(const std::string& reference);
  Status CheckServiceRuns(const std::string& state_dir) const;

  // Values of the newest answer. Written by the threads of every client of this session.
  struct Told {
    std::atomic<int64_t> clock_ahead_us = 0;  // relative to this machine's clock
    std::atomic<bool> insecure = false;
  };

  const GlobalOptions options_;
  Console& console_;
  const std::unique_ptr<Told> told_ = std::make_unique<Told>();
  std::unique_ptr<client::RunClient> client_;
};

// InvalidArgument when it is neither HOST:PORT nor unix:PATH. gRPC would try to resolve it as a
// host name until the deadline.
Status CheckServerAddress(const std::string& address);

// "; did you mean 'watch'?", or "" when nothing is near.
std::string DidYouMean(const std::string& word, const std::vector<std::string>& candidates);

}  // namespace gp::gpctl
