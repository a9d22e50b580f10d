// Keyed dropout masks, a vector of columns at a time.
#pragma once

#include "worker/engine/backend/backend.h"
#include "worker/engine/backend/cpu/kernels/vector.h"
#include "worker/engine/backend/dropout_key.h"

namespace gp::engine::GP_ISA_NAMESPACE {

// The mask of one row: scale if kept, 0 if dropped. Computes dropout_key.h's DropoutHash, kWidth
// columns at a time.
class DropoutRow {
 public:
  DropoutRow(uint64_t row_key, uint32_t threshold, float scale)
      : low_(static_cast<uint32_t>(row_key)),
        high_(static_cast<uint32_t>(row_key >> 32)),
        threshold_(threshold),
        scale_(scale) {}

  Vec Mask(int64_t column) const {
    VecU x = (reinterpret_cast<VecU>(LaneIndex()) + static_cast<uint32_t>(column)) ^ low_;
    x = (x ^ (x >> 16)) * 0x85ebca6bu;
    x = (x ^ (x >> 13)) * 0xc2b2ae35u;
    x = (x ^ (x >> 16)) ^ high_;
    return x < threshold_ ? Vec{} : Splat(scale_);
  }

 private:
  uint32_t low_;
  uint32_t high_;
  uint32_t threshold_;
  float scale_;
};

// Makes the DropoutRow of each row of one site.
class DropoutSite {
 public:
  explicit DropoutSite(const Dropout& dropout)
      : active_(dropout.probability > 0),
        key_(DropoutSiteKey(dropout)),
        threshold_(DropoutThreshold(dropout)),
        scale_(DropoutScale(dropout)) {}

  bool active() const { return active_; }
  DropoutRow Row(int64_t row) const {
    return DropoutRow(DropoutRowKey(key_, static_cast<uint64_t>(row)), threshold_, scale_);
  }

 private:
  bool active_;
  uint64_t key_;
  uint32_t threshold_;
  float scale_;
};

}  // namespace gp::engine::GP_ISA_NAMESPACE
