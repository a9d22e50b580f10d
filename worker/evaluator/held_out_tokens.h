// HeldOutTokens: what a checkpoint is evaluated on: files that somebody names, or the validation
// split of the run that wrote the checkpoint. Constant after construction; one thread opens it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "plan/model_shape.h"
#include "plan/run_spec.h"
#include "tokenizer/tokenizer.h"
#include "worker/data/validation_windows.h"

namespace gp::engine {

// Token shards (*.bin, *.npy) or text. `format` says what they hold whatever their names are and
// whatever they look like: kText, or kUint16 of shards.
struct HeldOutFiles {
  std::vector<std::string> paths;
  runspec::DataFormat format = runspec::DataFormat::kAuto;
};

class HeldOutTokens {
 public:
  // No files: the validation split that resolved.yaml above `checkpoint` names. Errors name file
  // and way out.
  static StatusOr<HeldOutTokens> Open(const HeldOutFiles& files, const std::string& checkpoint,
                                      const Tokenizer& tokenizer, const runspec::ModelShape& shape,
                                      int threads);

  const TokenSource& tokens() const { return *tokens_; }
  // The length that the run trained with; the model's context where no run file tells.
  int64_t sequence() const { return sequence_; }

 private:
  std::unique_ptr<TokenSource> tokens_;
  int64_t sequence_ = 1;
};

}  // namespace gp::engine
