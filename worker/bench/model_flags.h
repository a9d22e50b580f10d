// ModelFlags: the flags for the model that a bench runs, how it computes, and how it reports.
// Values, used by main's thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/command_line.h"
#include "worker/bench/machine_limits.h"
#include "worker/engine/model/make_language_model.h"

namespace gp::engine {

struct ModelFlags {
  std::string model = "124M";
  int64_t batch = 4;
  int64_t sequence = 0;  // 0: the model's context
  std::string precision = "fp32";
  int threads = 0;  // 0: one per core
  std::string isa = "auto";
  std::string engine = "fused";
  std::string device = "cpu";
  bool graph = true;
  bool deterministic = false;  // for a GPU; a CPU is always deterministic
  std::string attention = "flash";
  std::string recompute = "none";
  int64_t chunked_head = 0;
  std::string residual = "fp32";
  std::vector<std::string> train;  // parts of the model; empty: all
  int64_t peak_side = kPeakSide;   // side of the square product that measures a device's peak
  std::string output = "text";

  bool json() const { return output == "json"; }
};

// --model, --batch, --sequence, --threads and --output.
void AddShapeFlags(const Command& app, ModelFlags& flags);
// The flags of AddShapeFlags, --device, --precision, and the flags that change what is kept in
// memory: --attention, --recompute, --chunked-head, --residual, --train.
void AddModelFlags(const Command& app, ModelFlags& flags);
// --isa, --engine, --no-graph, --deterministic and --peak-side, for commands that compute.
void AddEngineFlags(const Command& app, ModelFlags& flags);
void AddPeakFlag(const Command& app, int64_t& side);
void AddOutputFlag(const Command& app, std::string& output);
// --device; gp-bench-cuda makes gpu its default.
void AddDeviceFlag(const Command& app, ModelFlags& flags);

// Includes the choices of the tuning cache, like a run. Throws std::invalid_argument for an isa or
// a part that does not exist and for a damaged cache.
ModelOptions MakeModelOptions(const ModelFlags& flags);
// The same options as flags for a peer program (tests/bench/peers/protocol.py).
std::vector<std::string> PeerArguments(const ModelOptions& options);
const char* PrecisionName(const ModelOptions& options);
// The type of activations.
DataType ComputeTypeOf(const ModelOptions& options);
// "NVIDIA H200", or "cpu".
std::string DeviceName(const ModelOptions& options);

}  // namespace gp::engine
