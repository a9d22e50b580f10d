// A host stand-in for the part of the CUDA runtime that gp uses, so that the same .cu files compile
// with a host compiler and run under a debugger and the sanitizers, on machines without CUDA. Found
// in front of the toolkit's headers by targets that link gp_cuda_emulation; written from CUDA's
// documentation.
//
// How it behaves:
//  - Device memory is ordinary memory, filled with NaN by cudaMalloc. Copies check that their ends
//    lie in one allocation of the right kind.
//  - A launch runs at once: blocks one after the other, the threads of a block as fibers, first in
//    rising, in the next block in falling order. Barriers and warp operations are checked
//    (cuda_emulation/device_threads.h); shared memory is NaN when a block begins. What a device
//    would hang on or read as garbage is a KernelError.
//  - With SetDeferred (emulation/work_queue.h; GP_CUDA_EMULATION_DEFERRED=1) a stream's work stays
//    until somebody waits for it, as late as a device may run it: a wait that is missing shows.
//  - Between cudaStreamBeginCapture and EndCapture work is recorded instead, and cudaGraphLaunch
//    runs it: arguments by value, memory by reference.
//  - Any number of host threads may call; kernels run one at a time.
//
// What it cannot show: races between blocks, and between threads that a scheduler interleaves in
// other ways than the two orders above; the order of memory accesses (__threadfence is empty); that
// a kernel is slow, or needs too many registers; the errors of the fast intrinsics, and fused
// multiply-adds. cuDNN is not part of it.
//
// To add a kernel: kernels/<noun>.h with the launcher's contract, kernels/<noun>.cu (AwaitPrevious
// first, GP_SHARED, GP_DYNAMIC_SHARED, Launch), its name in kernels/kernels.cmake;
// kernels/<noun>_test.cc under tests/worker/engine/backend/cuda with the plain loop, its name in
// the CMakeLists.txt there. A test reaches device memory through DeviceArray only: the same test
// runs on a GPU. To add an intrinsic: cuda_emulation/device_math.h or device_threads.h, by its
// documented meaning.
#pragma once

#include "cuda_emulation/atomics.h"
#include "cuda_emulation/device_math.h"
#include "cuda_emulation/device_threads.h"
#include "cuda_emulation/launch.h"
#include "cuda_emulation/qualifiers.h"
#include "cuda_emulation/runtime_api.h"
#include "cuda_emulation/vector_types.h"
