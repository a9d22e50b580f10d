#include "interop/tensor_names.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include "base/text/excerpt.h"

namespace gp::interop {
namespace {

using runspec::ParameterInfo;

constexpr std::string_view kModelPrefix = "transformer.";  // the model's own
constexpr std::string_view kPrefixes[] = {"_orig_mod.",    // torch.compile
                                          "module.",       // DataParallel
                                          "_fsdp_wrapped_module.",
                                          "model.",       // Lightning, peft
                                          "base_model.",  // peft
                                          kModelPrefix};
constexpr std::string_view kParts[] = {"wte.", "wpe.", "h.", "ln_f."};
// Parts of the names of peft's own tensors, and of the tensors that peft replaces.
constexpr std::string_view kAdapterParts[] = {
    ".lora_", ".base_layer.", ".modules_to_save.", ".ia3_l", "prompt_embeddings", ".oft_", ".hada_",
};

size_t PrefixBytes(std::string_view name) {
  size_t bytes = 0;
  while (true) {
    const std::string_view rest = name.substr(bytes);
    const auto* const found =
        std::find_if(std::begin(kPrefixes), std::end(kPrefixes),
                     [&](std::string_view prefix) { return rest.starts_with(prefix); });
    if (found == std::end(kPrefixes)) return bytes;
    bytes += found->size();
  }
}

bool IsBody(std::string_view name) {
  return std::any_of(std::begin(kParts), std::end(kParts),
                     [&](std::string_view part) { return name.starts_with(part); });
}

bool IsAdapter(std::string_view name) {
  return std::any_of(
      std::begin(kAdapterParts), std::end(kAdapterParts),
      [&](std::string_view part) { return name.find(part) != std::string_view::npos; });
}

// The error for two tensors of the file whose prefixes differ.
Status BeginDifferently(const TensorSet& tensors, const std::string& one,
                        const std::string& other) {
  return InvalidArgument(
      "{}: the names of tensors '{}' and '{}' have different prefixes, expected the same prefix "
      "for all; write the file again with one prefix",
      tensors.path(), Excerpt(one), Excerpt(other));
}

// Collects the names that, without their prefix, belong to a GPT-2.
class PrefixFinder {
 public:
  explicit PrefixFinder(const TensorSet& tensors) : tensors_(tensors) {}

  Status Add(const std::string& name) {
    const size_t bytes = PrefixBytes(name);
    const std::string bare = name.substr(bytes);
    if (bare != kHeadName && !IsBody(bare)) return OkStatus();
    const auto [other, added] = by_bare_name_.insert({bare, name});
    if (!added) {
      return InvalidArgument(
          "{}: tensors '{}' and '{}' are both '{}' without their prefixes; write the file again "
          "with one of them",
          tensors_.path(), Excerpt(other->second), Excerpt(name), Excerpt(bare));
    }
    auto& first = bare == kHeadName ? head_ : body_;
    if (!first) first = name;
    const size_t first_bytes = PrefixBytes(*first);
    if (first->substr(0, first_bytes) == name.substr(0, bytes)) return OkStatus();
    return BeginDifferently(tensors_, *first, name);
  }

  // The head is a direct member of the wrapped model, and the other tensors are often in its member
  // "transformer", so their prefix begins with the head's.
  Status Finish(TensorNames& names) const {
    if (body_) names.prefix = body_->substr(0, PrefixBytes(*body_));
    if (head_) names.head_prefix = head_->substr(0, PrefixBytes(*head_));
    if (!body_ || names.prefix.starts_with(names.head_prefix)) return OkStatus();
    return BeginDifferently(tensors_, *body_, *head_);
  }

 private:
  const TensorSet& tensors_;
  std::optional<std::string> body_, head_;           // the first name of each kind
  std::map<std::string, std::string> by_bare_name_;  // maps to the name in the file
};

}  // namespace

std::string TensorNames::Of(const ParameterInfo& tensor) const {
  return (tensor.name == kHeadName ? head_prefix : prefix) + tensor.name;
}

bool TensorNames::IsTransposed(const ParameterInfo& tensor) const {
  return transposed && tensor.shape.size() == 2 && tensor.name.starts_with("h.");
}

std::vector<int64_t> TensorNames::ShapeOf(const ParameterInfo& tensor) const {
  std::vector<int64_t> shape = tensor.shape;
  if (IsTransposed(tensor)) std::reverse(shape.begin(), shape.end());
  return shape;
}

std::string TensorNames::Wrappers() const {
  if (!prefix.ends_with(kModelPrefix)) return prefix;
  return prefix.substr(0, prefix.size() - kModelPrefix.size());
}

StatusOr<TensorNames> FindTensorNames(const TensorSet& tensors, bool transposed) {
  PrefixFinder finder(tensors);
  for (const std::string& name : tensors.Names()) {
    if (IsAdapter(name)) {
      return FailedPrecondition(
          "{} holds an adapter of peft (tensor '{}'), which gp does not support; write the merged "
          "model: model.merge_and_unload().save_pretrained('NEW')",
          tensors.FileOf(name), Excerpt(name));
    }
    RETURN_IF_ERROR(finder.Add(name));
  }
  TensorNames names{.transposed = transposed};
  RETURN_IF_ERROR(finder.Finish(names));
  return names;
}

}  // namespace gp::interop
