// EngineEnvironment: the variables of this process' environment that a trainer or a sampler gets.
// They do not see the rest of a daemon's environment, which may contain a token. May be called from
// any thread, because nothing changes the environment.
#pragma once

#include <string>
#include <vector>

namespace gp::daemon {

// "NAME=value" of PATH, HOME, USER, LANG, LC_ALL, TZ, TMPDIR, XDG_CACHE_HOME, GP_ISA_MAX,
// GP_EARLY_LAUNCH, GP_ADD_IN_PRODUCTS, GP_GPT2_VOCAB and of the names in `more`, where they are
// set.
std::vector<std::string> EngineEnvironment(const std::vector<std::string>& more = {});

}  // namespace gp::daemon
