// The process that started this one. Called by main, before other threads exist.
#pragma once

namespace gp {

// From now on the kernel kills this process when its parent ends. False when the parent ended
// before.
bool DieWithParent();

}  // namespace gp
