#include "interop/model_source.h"

#include "base/check.h"
#include "interop/float_type.h"

namespace gp::interop {

Status ModelSource::Read(const runspec::ParameterInfo& tensor, std::span<float> values,
                         NotFinite not_finite) const {
  GP_CHECK(values.size() == static_cast<size_t>(tensor.count));
  RETURN_IF_ERROR(ReadValues(tensor, values));
  if (not_finite == NotFinite::kTake) return OkStatus();
  const auto at = FirstNotFinite(values);
  if (!at) return OkStatus();
  return DataLoss(
      "{} holds {} as element {} of {}; the model's results would not be finite: repair it, or "
      "accept it in 'gpctl import' or 'gpctl export' with --allow-nonfinite",
      Describe(tensor), values[*at], *at, tensor.count);
}

SpecialTokens SpecialTokensOf(const ModelSource& source) {
  return source.tokenizer() == nullptr ? SpecialTokens() : source.tokenizer()->special_tokens();
}

}  // namespace gp::interop
