// AwaitPrevious: every kernel calls it first. For .cu files only.
//
// On sm_90 and later, Launch (launch.h) allows the device to place a kernel's blocks while the last
// blocks of the previous kernel in the stream still run, so that no time is lost between two
// kernels (CUDA Programming Guide, "Programmatic Dependent Launch and Synchronization").
#pragma once

#include <cuda_runtime.h>

namespace gp::engine {

// Returns when the previous kernel is done and its writes are visible. That kernel has waited for
// the kernels before it. After the call, the next kernel may be placed; it waits here too. Each
// thread of each kernel calls once, and first: scripts/check_files.py looks at the source, and the
// emulation reports a thread that has not called.
__device__ __forceinline__ void AwaitPrevious() {
#if defined(GP_CUDA_EMULATION)
  cuda_emulation::NoteAwaited();
#elif __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" :::);
#endif
}

}  // namespace gp::engine
