// The file of gemm_tuning.h.
#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "worker/engine/backend/cuda/gemm_tuning.h"

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

// Letters and digits, the rest as single dashes.
std::string FileNameOf(const std::string& text) {
  std::string name;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
  }
  return name;
}

}  // namespace

std::string TunedGemmsPath(const std::string& tuning_device) {
  const std::string directory = CacheDirectory();
  return directory.empty() ? "" : directory + "/gemms-" + FileNameOf(tuning_device) + ".txt";
}

GemmChoices ReadTunedGemms(const std::string& tuning_device) {
  const GemmChoices nothing(tuning_device);
  const std::string path = TunedGemmsPath(tuning_device);
  std::ifstream file(path);
  if (path.empty() || !file) return nothing;
  std::ostringstream text;
  text << file.rdbuf();
  try {
    GemmChoices choices = GemmChoices::Parse(text.str());
    return choices.device() == tuning_device ? choices : nothing;
  } catch (const std::invalid_argument&) {
    return nothing;  // measured again and overwritten
  }
}

bool WriteTunedGemms(const GemmChoices& choices) {
  const std::filesystem::path path = TunedGemmsPath(choices.device());
  if (path.empty()) return false;
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  const std::filesystem::path fresh = path.string() + "." + std::to_string(getpid());
  std::ofstream file(fresh);
  file << choices.Encode();
  file.close();
  if (file) std::filesystem::rename(fresh, path, error);
  if (!file || error) std::filesystem::remove(fresh, error);
  return file && !error;
}

}  // namespace gp::engine
