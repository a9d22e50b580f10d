#include "daemon/engine_environment.h"

#include <array>
#include <cstdlib>

namespace gp::daemon {
namespace {

constexpr std::array kEngineVariables = {"PATH",
                                         "HOME",
                                         "USER",
                                         "LANG",
                                         "LC_ALL",
                                         "TZ",
                                         "TMPDIR",
                                         "XDG_CACHE_HOME",
                                         "GP_ISA_MAX",
                                         "GP_EARLY_LAUNCH",
                                         "GP_ADD_IN_PRODUCTS",
                                         "GP_GPT2_VOCAB"};

}  // namespace

std::vector<std::string> EngineEnvironment(const std::vector<std::string>& more) {
  std::vector<std::string> names(kEngineVariables.begin(), kEngineVariables.end());
  names.insert(names.end(), more.begin(), more.end());
  std::vector<std::string> environment;
  for (const std::string& name : names) {
    if (const char* value = std::getenv(name.c_str())) environment.push_back(name + "=" + value);
  }
  return environment;
}

}  // namespace gp::daemon
