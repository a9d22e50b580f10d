// GemmChoices: which of cuBLASLt's algorithms computes which kind of product, and which products
// with an epilogue are passed over for a plain one and a pass of its own, as found by timing
// (gemm_tuning.h). A value that a run's record carries; another choice sums in another order.
// Pure functions, standard library only.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace gp::engine {

class GemmChoices {
 public:
  // In place of an algorithm: the product is not computed in this form.
  static constexpr const char* kPassedOver = "0";

  // Of algorithms for one GPU, driver and cuBLASLt version, which `device` names.
  GemmChoices() = default;
  explicit GemmChoices(std::string device) : device_(std::move(device)) {}

  // Inverse of Encode. Of a text of another format only the device is taken: it was timed between
  // other candidates. Throws std::invalid_argument for what no Encode writes.
  static GemmChoices Parse(const std::string& text);
  // One line: "<device>|2|<kind>=<algorithm>;…", in the order of the kinds; 2 is the format.
  std::string Encode() const;

  const std::string& device() const { return device_; }
  bool empty() const { return algorithms_.empty(); }
  // `kind` is ProductKind::Text, `algorithm` hexadecimal digits. Neither has ; = or |.
  void Set(const std::string& kind, const std::string& algorithm) { algorithms_[kind] = algorithm; }
  // Takes over what the other says.
  void Add(const GemmChoices& other) {
    for (const auto& [kind, algorithm] : other.algorithms_) Set(kind, algorithm);
  }
  // Whether I say something about everything that the other does.
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
