// The dropouts with which kernels are tested, and their masks computed with dropout_key.h.
#pragma once

#include <list>
#include <memory>
#include <vector>

#include "worker/engine/backend/cuda/device_array.h"
#include "worker/engine/backend/dropout_key.h"

namespace gp::engine {

// A Dropout whose key is passed by value or through device memory.
class KeyedDropout {
 public:
  KeyedDropout(const Dropout& dropout, bool by_pointer)
      : site_key_(DropoutSiteKey(dropout)), dropout_(dropout) {
    if (!by_pointer) return;
    key_ =
        std::make_unique<DeviceValues<uint64_t>>(std::vector<uint64_t>{DropoutBatchKey(dropout)});
    dropout_.key = key_->data();
    dropout_.seed = dropout_.step = 999;  // not read
  }

  const Dropout& dropout() const { return dropout_; }
  // The factor by which dropout multiplies this element.
  double At(int64_t row, int64_t column) const {
    if (dropout_.probability == 0) return 1;
    const uint64_t key = DropoutRowKey(site_key_, static_cast<uint64_t>(row));
    const bool kept = DropoutHash(key, static_cast<uint32_t>(column)) >= DropoutThreshold(dropout_);
    return kept ? DropoutScale(dropout_) : 0;
  }

 private:
  uint64_t site_key_;
  Dropout dropout_;
  std::unique_ptr<DeviceValues<uint64_t>> key_;
};

// No dropout; dropout with its key passed by value; dropout with its key passed by pointer.
inline std::list<KeyedDropout> DropoutCases() {
  const Dropout on{.probability = 0.3, .seed = 1, .step = 2, .shard = 3, .site = 5};
  std::list<KeyedDropout> cases;
  cases.emplace_back(Dropout{}, false);
  cases.emplace_back(on, false);
  cases.emplace_back(on, true);
  return cases;
}

}  // namespace gp::engine
