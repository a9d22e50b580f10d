// Emulates on the host the part of the CUDA runtime that gp uses, so that the same .cu files
// compile with a host compiler and run under a debugger and sanitizers, on machines without CUDA.
// Targets that link gp_cuda_emulation find it before the toolkit's headers. Written from CUDA's
// documentation.
//
// Behaviour:
//  - Device memory is ordinary memory, filled with NaN by cudaMalloc. Copies check that each end
//    lies within one allocation of the right kind.
//  - A launch runs at once: blocks one after another, the threads of a block as fibers, in rising
//    order in one block and in falling order in the next. Barriers and warp operations are checked
//    (cuda_emulation/device_threads.h); shared memory is NaN when a block begins. What would make a
//    device hang or read garbage throws KernelError.
//  - With SetDeferred (emulation/work_queue.h; GP_CUDA_EMULATION_DEFERRED=1), a stream's work is
//    queued until something waits for it, that is, it runs as late as on any device. This reveals
//    missing waits.
//  - Between cudaStreamBeginCapture and EndCapture, work is recorded instead, and cudaGraphLaunch
//    runs it with the recorded arguments on the memory's current content.
//  - Any number of host threads may call; kernels run one at a time.
//
// It cannot show: races between blocks, or between threads in orders other than the two above;
// wrong memory ordering (__threadfence is empty); slow kernels, or kernels that need too many
// registers; the errors of fast intrinsics and of fused multiply-adds. It does not include cuDNN.
//
// To add a kernel: kernels/<noun>.h with the launcher's contract, kernels/<noun>.cu (AwaitPrevious
// first, GP_SHARED, GP_DYNAMIC_SHARED, Launch), its name in kernels/kernels.cmake;
// kernels/<noun>_test.cc under tests/worker/engine/backend/cuda with a plain loop as reference, its
// name in the CMakeLists.txt there. A test accesses device memory only through DeviceArray, so that
// it also runs on a GPU. To add an intrinsic: implement its documented meaning in
// cuda_emulation/device_math.h or device_threads.h.
#pragma once

#include "cuda_emulation/atomics.h"
#include "cuda_emulation/device_math.h"
#include "cuda_emulation/device_threads.h"
#include "cuda_emulation/launch.h"
#include "cuda_emulation/qualifiers.h"
#include "cuda_emulation/runtime_api.h"
#include "cuda_emulation/vector_types.h"
