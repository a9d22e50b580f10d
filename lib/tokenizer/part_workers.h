// Runs work on the parts of a text on several threads. Any thread may call.
#pragma once

#include <cstddef>
#include <functional>

namespace gp {

// Calls work(part, worker) once for each part below `parts`, with workers numbered from 0; the
// caller's thread is one of at most `threads`. Runs with fewer if the system refuses threads.
// Rethrows an exception of a call, and begins no other part after it.
void WorkOnParts(size_t parts, int threads,
                 const std::function<void(size_t part, size_t worker)>& work);

}  // namespace gp
