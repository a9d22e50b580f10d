// Settings of --set-file: a file with a line KEY=VALUE for each, like an environment file. Reads
// files; used by gpctl's main thread.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "client/gpctl/terminal/console.h"

namespace gp::gpctl {

struct Settings {
  std::vector<std::string> values;   // "optimizer.lr=3e-4"
  std::vector<std::string> sources;  // by value: "my.env:3"; those of --set have none
};

// The settings of all files in their order, then `overrides`, so that --set wins. Empty lines and
// lines that begin with '#' are skipped. InvalidArgument names the line that is no setting.
StatusOr<Settings> SettingsOf(const std::vector<std::string>& files,
                              const std::vector<std::string>& overrides, const Console& console);

// A service does not have the files: its `problem` names a setting "KEY" or "--set KEY". The same
// with the file and the line of each setting that is from a file.
Status NamingFiles(const Status& problem, const Settings& settings);

}  // namespace gp::gpctl
