// GemmChoices: which cuBLASLt algorithm computes which kind of product, as found by timing
// (gemm_tuning.h). It also lists products with an epilogue that are slower than a plain product and
// a separate pass, and so are not used. The run's record stores this value, because another choice
// sums in another order. Pure functions, standard library only.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace gp::engine {

class GemmChoices {
 public:
  // This text in place of an algorithm means: the product is not computed in this form.
  static constexpr const char* kPassedOver = "0";

  // `device` names the GPU, the driver and the cuBLASLt version that the algorithms are for.
  GemmChoices() = default;
  explicit GemmChoices(std::string device) : device_(std::move(device)) {}

  // Inverse of Encode. From a text of another format version it takes the device only, because that
  // version timed other candidates. Throws std::invalid_argument for what no Encode writes.
  static GemmChoices Parse(const std::string& text);
  // One line: "<device>|2|<kind>=<algorithm>;…", in the order of the kinds; 2 is the format.
  std::string Encode() const;

  const std::string& device() const { return device_; }
  bool empty() const { return algorithms_.empty(); }
  size_t size() const { return algorithms_.size(); }
  // `kind` is ProductKind::Text, `algorithm` hexadecimal digits. Neither has ; = or |.
  void Set(const std::string& kind, const std::string& algorithm) { algorithms_[kind] = algorithm; }
  // Adds the other's entries; they replace entries for the same kind.
  void Add(const GemmChoices& other) {
    for (const auto& [kind, algorithm] : other.algorithms_) Set(kind, algorithm);
  }
  // Whether these choices have an entry for every product that `other` has one for.
  bool Covers(const GemmChoices& other) const {
    return std::all_of(other.algorithms_.begin(), other.algorithms_.end(),
                       [&](const auto& choice) { return Find(choice.first) != nullptr; });
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
