// The directory of measurements on this machine, which later runs use: one text file for each
// measurement, in $XDG_CACHE_HOME/gp, or else in $HOME/.cache/gp. Functions may be called from any
// thread, and files by any process. Standard library only.
#pragma once

#include <optional>
#include <string>

namespace gp::engine {

// The hardware's name in a file name: "Intel(R) Xeon(R) 6" is "intel-r-xeon-r-6".
std::string TuningCacheName(const std::string& hardware);

// The folder of the matrix products that were chosen for GPUs. A confined trainer on a GPU may
// write there (trainer/run_files.h).
inline constexpr const char* kTunedGemmsFolder = "gemms";

// `file` in the directory. Empty when neither variable is set.
std::string TuningCachePath(const std::string& file);

// Nothing when the path is empty or cannot be read.
std::optional<std::string> ReadTuningCache(const std::string& path);

// Replaces the file atomically: a reader finds the old or the new one. Throws std::runtime_error
// that names the path, or the variables when the path is empty.
void WriteTuningCache(const std::string& path, const std::string& text);

}  // namespace gp::engine
