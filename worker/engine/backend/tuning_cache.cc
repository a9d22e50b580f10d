#include "worker/engine/backend/tuning_cache.h"

#include <unistd.h>

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

}  // namespace

std::string TuningCacheName(const std::string& hardware) {
  std::string name;
  for (const char c : hardware) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
  }
  while (name.ends_with('-')) name.pop_back();
  return name.empty() ? "unknown" : name;
}

std::string TuningCachePath(const std::string& file) {
  if (const std::string cache = Variable("XDG_CACHE_HOME"); !cache.empty()) {
    return cache + "/gp/" + file;
  }
  if (const std::string home = Variable("HOME"); !home.empty()) return home + "/.cache/gp/" + file;
  return "";
}

std::optional<std::string> ReadTuningCache(const std::string& path) {
  std::ifstream file(path);
  if (path.empty() || !file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void WriteTuningCache(const std::string& path, const std::string& text) {
  if (path.empty()) throw std::runtime_error("neither XDG_CACHE_HOME nor HOME is set");
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  const std::string fresh = path + "." + std::to_string(getpid());
  std::ofstream file(fresh);
  file << text;
  file.close();
  if (file) std::filesystem::rename(fresh, path, error);
  if (file && !error) return;
  const std::string reason = error ? ": " + error.message() : "";
  std::filesystem::remove(fresh, error);
  throw std::runtime_error("cannot write " + path + reason);
}

}  // namespace gp::engine
