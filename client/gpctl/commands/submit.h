// Submitting a run file, shared by `gpctl submit` and `gpctl demo`. Used by gpctl's main thread.
#pragma once

#include <string>
#include <vector>

#include "client/gpctl/cluster/job_set.h"
#include "client/gpctl/session/run_file_text.h"
#include "client/gpctl/session/session.h"

namespace gp::gpctl {

struct SubmitOptions {
  std::string file;
  std::vector<std::string> overrides;
  std::vector<std::string> override_sources;  // as Settings::sources
  std::vector<std::string> set_files;         // --set-file: settings before `overrides`
  std::vector<std::string> labels;            // --label: KEY=VALUE, after `overrides`
  std::string name;
  std::string request_id;
  bool detach = false;  // --detach: the default; only excludes --wait
  bool wait = false;
  bool dry_run = false;
  // The model of init_from is read here, and the run file compared with it. False: only the service
  // can read it, and the run file says what depends on it.
  bool reads_model = true;
  bool tells_idle_slots = true;     // how to use slots that would stay idle
  std::string backend = "service";  // service | k8s
  JobSetOptions job_set;            // for --backend k8s
};

Settings SettingsOf(const SubmitOptions& options);

// Refuses relative paths unless the server knows where they start, and data that does not fit
// `spec`, the run that the file describes. Warnings go to stderr.
Status CheckInputs(const std::string& address, const RunFileText& file,
                   const std::vector<std::string>& overrides, const runspec::RunSpec& spec,
                   Console& console);

// The directory in which relative paths of the file start for the server; empty: unknown there.
std::string BaseDirectoryFor(const std::string& address, const RunFileText& file);

// Checks the file and its data here (InvalidArgument holds every problem of the file), then sends
// it; with options.dry_run the coordinator only checks it. Warnings go to stderr.
StatusOr<v1::SubmitResponse> SubmitRunFile(const RunFileText& file, const SubmitOptions& options,
                                           Session& session);

// "Submitted base (id): …", or the run as a document with -o json.
void PrintSubmitted(const v1::SubmitResponse& response, Session& session);

}  // namespace gp::gpctl
