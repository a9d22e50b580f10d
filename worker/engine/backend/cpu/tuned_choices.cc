#include "worker/engine/backend/cpu/tuned_choices.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace gp::engine {
namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string CacheDirectory() {
  if (const std::string cache = Variable("XDG_CACHE_HOME"); !cache.empty()) return cache + "/gp";
  if (const std::string home = Variable("HOME"); !home.empty()) return home + "/.cache/gp";
  return "";
}

// "intel-xeon-processor": letters and digits of the name that the kernel gives, the rest as dashes.
std::string ProcessorName() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  std::string line;
  while (std::getline(cpuinfo, line) && !line.starts_with("model name")) line.clear();
  std::string name;
  for (const char c : line.substr(std::min(line.size(), line.find(':') + 1))) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
  }
  while (name.ends_with('-')) name.pop_back();
  return name.empty() ? "unknown" : name;
}

}  // namespace

std::string TunedChoicesPath(Isa isa, int threads) {
  const std::string directory = CacheDirectory();
  if (directory.empty()) return "";
  return directory + "/kernels-" + ProcessorName() + "-" + IsaName(isa) + "-" +
         std::to_string(threads) + ".txt";
}

KernelChoices ReadTunedChoices(Isa isa, int threads) {
  const std::string path = TunedChoicesPath(isa, threads);
  std::ifstream file(path);
  if (path.empty() || !file) return KernelChoices::Default();
  std::ostringstream text;
  text << file.rdbuf();
  try {
    return KernelChoices::Parse(text.str());
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(path + ": " + error.what() +
                                "; remove the file or run `gp-bench tune` again");
  }
}

void WriteTunedChoices(const KernelChoices& choices, Isa isa, int threads) {
  const std::filesystem::path path = TunedChoicesPath(isa, threads);
  if (path.empty()) throw std::runtime_error("neither XDG_CACHE_HOME nor HOME is set");
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  const std::filesystem::path fresh = path.string() + "." + std::to_string(getpid());
  {
    std::ofstream file(fresh);
    file << choices.Encode();
    file.close();
    if (!file) throw std::runtime_error("cannot write " + fresh.string());
  }
  std::filesystem::rename(fresh, path, error);
  if (error) throw std::runtime_error("cannot write " + path.string() + ": " + error.message());
}

}  // namespace gp::engine
