// GemmChoices: which of cuBLASLt's algorithms computes which kind of product, as found by timing
// (gemm_tuning.h). A value that a run's record carries; another algorithm sums in another order.
// Pure functions, standard library only.
#pragma once

#include <map>
#include <string>
#include <utility>

namespace gp::engine {

class GemmChoices {
 public:
  // Of algorithms for one GPU, driver and cuBLASLt version, which `device` names.
  GemmChoices() = default;
  explicit GemmChoices(std::string device) : device_(std::move(device)) {}

  // Inverse of Encode. Throws std::invalid_argument for what Encode does not write.
  static GemmChoices Parse(const std::string& text);
  // One line: "<device>|<kind>=<algorithm>;…", in the order of the kinds.
  std::string Encode() const;

  const std::string& device() const { return device_; }
  bool empty() const { return algorithms_.empty(); }
  // `kind` is ProductKind::Text, `algorithm` hexadecimal digits. Neither has ; = or |.
  void Set(const std::string& kind, const std::string& algorithm) { algorithms_[kind] = algorithm; }
  // Takes over what the other says.
  void Add(const GemmChoices& other) {
    for (const auto& [kind, algorithm] : other.algorithms_) Set(kind, algorithm);
  }
  // Null when nothing was chosen.
  const std::string* Find(const std::string& kind) const {
    const auto found = algorithms_.find(kind);
    return found == algorithms_.end() ? nullptr : &found->second;
  }

  bool operator==(const GemmChoices&) const = default;

 private:
  std::string device_;
  std::map<std::string, std::string> algorithms_;
};

}  // namespace gp::engine
