// The device files of GPUs. A trainer and a sampler confine themselves to the device files that
// exist when they start, so everything that CUDA opens must exist before. Functions may be called
// from any thread.
#pragma once

#include <string>

namespace gp::daemon {

struct GpuDeviceFiles {
  std::string directory = "/dev";
  // NVIDIA's program that loads kernel modules and makes device files; setuid root.
  std::string nvidia_modprobe = "/usr/bin/nvidia-modprobe";
};

// Whether there is a GPU to open: /dev/nvidia<number> (a container may have only some of them) with
// /dev/nvidiactl, or /dev/dxg, through which the Windows Subsystem for Linux offers GPUs.
bool HasGpuDevice(const GpuDeviceFiles& files = {});

// Makes /dev/nvidia-uvm where NVIDIA's driver is and this file is not. CUDA needs it. After a boot
// it is missing until a program uses CUDA, which starts nvidia-modprobe for it; a confined program
// cannot. Returns why it is still missing, and what to do; empty if nothing is missing.
std::string MakeUnifiedMemoryDevice(const GpuDeviceFiles& files = {});

}  // namespace gp::daemon
