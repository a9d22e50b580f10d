// AwaitPrevious: what every kernel does first. For .cu files only.
//
// Launch (launch.h) lets a device of sm_90 and later place the blocks of a kernel while the last
// blocks of the kernel in front of it in the stream still run, so that the time between two kernels
// is not lost (CUDA Programming Guide, "Programmatic Dependent Launch and Synchronization").
#pragma once

#include <cuda_runtime.h>

namespace gp::engine {

// Returns when the kernel in front is done, and what it wrote can be seen; that kernel waited for
// those in front of it. From then on the next kernel may be placed, which waits here itself. Each
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
