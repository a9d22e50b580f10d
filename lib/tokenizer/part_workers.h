// Work on the parts of a text by several threads. Any thread may call.
#pragma once

#include <cstddef>
#include <functional>

namespace gp {

// Calls work(part, worker) once for each part below `parts`, workers being numbered from 0; the
// caller's thread is one of at most `threads`. Threads that the system does not give are done
// without. What a call throws is thrown here, and no other part is begun then.
void WorkOnParts(size_t parts, int threads,
                 const std::function<void(size_t part, size_t worker)>& work);

}  // namespace gp
