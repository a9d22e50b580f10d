#include "worker/trainer/initial_weights.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "base/log.h"
#include "base/machine/progress.h"
#include "formats/file_digest.h"
#include "interop/model_format.h"
#include "runspec/initial_model.h"
#include "worker/trainer/data_failure.h"

namespace gp::engine {
namespace {

using contract::ExitCause;
using runspec::ParameterInfo;

constexpr size_t kAgreedDigits = 12;  // hexadecimal: a double holds them exactly

void CheckInitialShape(const std::string& path, const runspec::ModelShape& source,
                       const runspec::ModelShape& model) {
  const auto problems = runspec::CheckAgainst(source, model);
  if (problems.empty()) return;
  throw TrainingError(ExitCause::kConfig, fmt::format("init_from {}: {}; {}", path,
                                                      problems[0].message, problems[0].hint));
}

// The number of elements of `tensor` to copy. Rows beyond the source's vocabulary are padding: the
// run's model keeps its own values there.
int64_t UsedCount(const ParameterInfo& tensor, const runspec::ModelShape& source) {
  const bool by_id = tensor.name == "wte.weight" || tensor.name == "lm_head.weight";
  return by_id ? source.vocabulary * source.channels : tensor.count;
}

}  // namespace

void LoadInitialWeights(const std::string& path, Communicator& communicator, LanguageModel& model) {
  const progress::Awaiting waiting(progress::Wait::kStorage);
  const auto source = UsableOrThrow(interop::OpenModelAt(path), /*begun=*/false);
  CheckInitialShape(path, source->shape(), model.shape());
  const auto layout = runspec::MakeParameterLayout(source->shape());
  formats::FileDigest digest(formats::DigestKind::kXxh3);
  std::vector<float> values;
  for (const ParameterInfo& tensor : model.layout().tensors) {
    const ParameterInfo& from = layout.at(tensor.name);
    values.resize(static_cast<size_t>(from.count));
    ThrowIfUnusable(source->Read(from, values), /*begun=*/false);
    const int64_t bytes = std::min(tensor.count, UsedCount(from, source->shape())) *
                          static_cast<int64_t>(sizeof(float));
    digest.Update({reinterpret_cast<const char*>(values.data()), static_cast<size_t>(bytes)});
    model.backend().Upload(model.parameters().data() + tensor.offset, values.data(), bytes);
  }
  model.ParametersChanged();
  AgreeOnInitial("weights", digest.Finish(), communicator);
  LogInfo("initial weights read", {{"from", path}});
}

void AgreeOnInitial(const std::string& what, const std::string& digest,
                    Communicator& communicator) {
  const auto number =
      static_cast<double>(std::stoull(digest.substr(0, kAgreedDigits), nullptr, 16));
  double extremes[2] = {number, -number};
  communicator.AllReduceMax(extremes);
  if (extremes[0] == -extremes[1]) return;
  throw TrainingError(ExitCause::kStorage,
                      fmt::format("the ranks read different {} from init_from; is it the same "
                                  "directory on every node?",
                                  what));
}

}  // namespace gp::engine
