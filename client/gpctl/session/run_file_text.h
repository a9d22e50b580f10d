// A run file as gpctl handles it: read from a path or standard input, and checked. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "client/gpctl/session/session.h"
#include "client/gpctl/session/setting_file.h"
#include "runspec/run_file.h"

namespace gp::gpctl {

using runspec::RunFileText;

// "-" reads standard input. InvalidArgument when the file cannot be read.
StatusOr<RunFileText> ReadRunFile(const std::string& path, Console& console);

// Whether `path` is "-", /dev/stdin or <(…) of a shell: other programs cannot open it.
bool IsOpenFile(const std::string& path);

// Checks the file here, with relative paths of settings taken from the working directory, and finds
// the model of init_from.
runspec::RunFileResult CheckRunFile(const RunFileText& file, const Settings& settings,
                                    Session& session);

// The same, with `name` (the option --name, unless it is empty) instead of the file's name of the
// run.
runspec::RunFileResult CheckRunFileOf(const RunFileText& file, const std::string& name,
                                      Settings settings, Session& session);

// The overrides, with data paths replaced by the absolute paths in `spec`, each such key once. So
// they are valid for a server that runs in another directory of this machine. For a run with
// init_from the model's path, shape and tokenizer are added: the server may not see its files.
std::vector<std::string> AbsoluteOverrides(const std::vector<std::string>& overrides,
                                           runspec::RunSpec spec);

// The problems as one text; each has its place. REQUIRES: there are problems.
Status ProblemsStatus(const runspec::RunFileResult& result);

}  // namespace gp::gpctl
