// The keys of nanoGPT's configuration, with the defaults of its train.py, and what becomes of those
// that a run file has no key for. Values; thread-safe.
#pragma once

#include <span>
#include <string_view>

#include "client/gpctl/nanogpt/python_settings.h"

namespace gp::gpctl {

struct NanogptKey {
  const char* name;
  PythonValue value;  // the default; None for a key of another program than train.py
  // Why a run file has no counterpart; null: it has one.
  const char* reason = nullptr;
};

std::span<const NanogptKey> NanogptKeys();

// Null if nanoGPT has no such key.
const NanogptKey* FindNanogptKey(std::string_view name);

// The names of train.py with their defaults, which a configuration may read.
PythonNames NanogptDefaults();

}  // namespace gp::gpctl
