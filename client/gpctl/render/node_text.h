// Nodes and their slots as text for people. Pure functions; thread-safe. `now` is seconds since
// 1970, by the coordinator's clock.
#pragma once

#include <string>

#include "client/gpctl/render/run_text.h"
#include "gp/v1/run_service.pb.h"

namespace gp::gpctl {

// A table of the nodes: a row for the machine with its load, one for the CPU slots and one for each
// GPU with its run; in these rows what the trainers use. A node that is silent for more than half
// of the lease is marked. Below the table: why nodes and GPUs are not used.
std::string NodeTable(const v1::NodesResponse& nodes, double now, const TextStyle& style);

// "ready", "busy", "lost", "cordoned", "draining" or "drained", as in the metric
// gp_coordinator_workers. The states of a cordon take precedence over "lost" and "busy".
std::string NodeStateName(const v1::Node& node);

// "2 slots are busy"
std::string BusyText(const v1::Node& node);

// A line about the node's cordon: "node-a is draining: new kernel (owner, 2m ago); 2 slots are
// busy". Without one the node is open.
std::string CordonLine(const v1::Node& node, double now);

// "NVIDIA H100, 80.0 GiB, sm_90"
std::string GpuText(const v1::Slot& slot);

bool IsGpu(const v1::Slot& slot);

// The number of the node's slots (GPUs or CPU cores) that are free, or that only `run_id` uses;
// 0 when the node has a cordon.
int FreeSlots(const v1::Node& node, bool gpu, const std::string& run_id = "");

}  // namespace gp::gpctl
