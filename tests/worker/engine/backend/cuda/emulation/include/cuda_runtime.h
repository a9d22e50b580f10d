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
//  - Streams and events are in order by that. Between cudaStreamBeginCapture and EndCapture work is
//    recorded instead and cudaGraphLaunch runs it: arguments by value, memory by reference.
//  - Any number of host threads may call; kernels run one at a time.
//
// To add a kernel: kernels/<noun>.h with the launcher's contract, kernels/<noun>.cu (GP_SHARED,
// GP_DYNAMIC_SHARED, Launch), its name in kernels/kernels.cmake; kernels/<noun>_test.cc under
// tests/worker/engine/backend/cuda with the plain loop, its name in the CMakeLists.txt there. A
// test reaches device memory through DeviceArray only: the same test runs on a GPU. To add an
// intrinsic: cuda_emulation/device_math.h or device_threads.h, by its documented meaning.
#pragma once

#include "cuda_emulation/atomics.h"
#include "cuda_emulation/device_math.h"
#include "cuda_emulation/device_threads.h"
#include "cuda_emulation/launch.h"
#include "cuda_emulation/qualifiers.h"
#include "cuda_emulation/runtime_api.h"
#include "cuda_emulation/vector_types.h"
