// The cores that this process keeps to. Changes hold for threads and children started later; call
// before either.
#pragma once

namespace gp::engine {

// Keeps this process and its children on the first `count` of its cores, so that a peer has what we
// have.
void UseCores(int count);

}  // namespace gp::engine
