// Nodes and their slots as text for people. Pure functions; thread-safe. `now` is seconds since
// 1970.
#pragma once

#include <string>
#include <vector>

#include "client/gpctl/render/run_text.h"
#include "gp/v1/run.pb.h"

namespace gp::gpctl {

// Each node, its cores in one row and each GPU in one of its own, with what runs there or why
// nothing can.
std::string NodeTable(const std::vector<v1::Node>& nodes, double now, const TextStyle& style);

// "NVIDIA H100, 80.0 GiB, sm_90"
std::string GpuText(const v1::Slot& slot);

bool IsGpu(const v1::Slot& slot);

// How many slots of the node nothing uses, or `run_id` alone: of GPUs, or of CPU cores.
int FreeSlots(const v1::Node& node, bool gpu, const std::string& run_id = "");

}  // namespace gp::gpctl
