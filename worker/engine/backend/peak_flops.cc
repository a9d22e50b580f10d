#include "worker/engine/backend/peak_flops.h"

#include <array>

namespace gp::engine {
namespace {

// Peaks in TFLOP/s; for fp16 and bf16, of products with fp32 accumulation. 0: the card does not
// support the precision.
struct Peak {
  const char* name;  // found in the driver's name by IsNamed; the first match counts
  const char* source;
  double fp32;
  double tf32;
  double fp16;
  double bf16;
  double fp8;
};

constexpr char kGB200[] = "data sheet: NVIDIA GB200 NVL72";
constexpr char kB200[] = "data sheet: NVIDIA Blackwell (HGX B200)";
constexpr char kH200[] = "data sheet: NVIDIA H200 Tensor Core GPU";
constexpr char kH200Nvl[] = "data sheet: NVIDIA H200 Tensor Core GPU (NVL)";
constexpr char kH100[] = "data sheet: NVIDIA H100 Tensor Core GPU";
constexpr char kH100Nvl[] = "data sheet: NVIDIA H100 Tensor Core GPU (NVL)";
constexpr char kA100[] = "data sheet: NVIDIA A100 Tensor Core GPU";
constexpr char kL40S[] = "data sheet: NVIDIA L40S";
constexpr char kAda[] = "whitepaper: NVIDIA Ada GPU Architecture";
constexpr char kAmpere[] = "whitepaper: NVIDIA Ampere GA102 GPU Architecture";
constexpr char kT4[] = "data sheet: NVIDIA T4 Tensor Core GPU";

constexpr std::array<Peak, 16> kPeaks = {{
    {"GB200", kGB200, 80, 1250, 2500, 2500, 5000},
    {"B200", kB200, 75, 1100, 2250, 2250, 4500},
    {"H200 NVL", kH200Nvl, 60, 417.5, 835.5, 835.5, 1670.5},
    {"H200", kH200, 67, 494.7, 989.4, 989.4, 1978.9},
    {"H100 NVL", kH100Nvl, 60, 417.5, 835.5, 835.5, 1670.5},
    {"H100 PCIe", kH100, 51.2, 378, 756, 756, 1513},
    {"H100", kH100, 66.9, 494.7, 989.4, 989.4, 1978.9},
    {"GH200", kH100, 66.9, 494.7, 989.4, 989.4, 1978.9},
    {"A100", kA100, 19.5, 156, 312, 312, 0},
    {"L40S", kL40S, 91.6, 183, 362, 362, 733},
    {"RTX 4090", kAda, 82.6, 82.6, 165.2, 165.2, 330.3},
    {"RTX 4080", kAda, 48.7, 48.7, 97.5, 97.5, 194.9},
    {"RTX 3090", kAmpere, 35.6, 35.6, 71, 71, 0},
    {"RTX 3080", kAmpere, 29.8, 29.8, 59.5, 59.5, 0},
    {"A40", kAmpere, 37.4, 74.8, 149.7, 149.7, 0},
    {"T4", kT4, 8.1, 0, 65, 0, 0},
}};

double Of(const Peak& peak, runspec::Precision precision) {
  switch (precision) {
    case runspec::Precision::kFp32:
      return peak.fp32;
    case runspec::Precision::kTf32:
      return peak.tf32;
    case runspec::Precision::kFp16:
      return peak.fp16;
    case runspec::Precision::kBf16:
      return peak.bf16;
    case runspec::Precision::kFp8:
      return peak.fp8;
    case runspec::Precision::kAuto:
      break;
  }
  return 0;
}

// "A40" is in "NVIDIA A40-48Q", not in "NVIDIA RTX A4000". Nothing may follow the name of a GeForce
// (RTX), because Ti, SUPER and Laptop are other cards. A part of a GPU (MIG) matches nothing: no
// peak is published for it.
bool IsNamed(const std::string& device, const std::string& name) {
  const size_t at = device.find(name);
  if (at == std::string::npos || device.find("MIG") != std::string::npos) return false;
  if (at > 0 && device[at - 1] != ' ') return false;
  const size_t end = at + name.size();
  if (end == device.size()) return true;
  const bool is_word = device[end] == ' ' || device[end] == '-';
  return is_word && !name.starts_with("RTX");
}

}  // namespace

PeakFlops PeakFlopsOf(const std::string& device, runspec::Precision precision) {
  for (const Peak& peak : kPeaks) {
    if (!IsNamed(device, peak.name)) continue;
    const double tflops = Of(peak, precision);
    return tflops > 0 ? PeakFlops{tflops * 1e12, peak.source} : PeakFlops{};
  }
  return {};
}

}  // namespace gp::engine
