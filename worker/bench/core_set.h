// The cores that this process may use. A change applies to threads and children that start later,
// so call this first.
#pragma once

namespace gp::engine {

// Keeps this process and its children on the first `count` of its cores, so that a peer program has
// the same cores.
void UseCores(int count);

}  // namespace gp::engine
