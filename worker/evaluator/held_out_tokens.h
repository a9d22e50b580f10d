// HeldOutTokens: the data on which a checkpoint is evaluated: files that a user names, or the
// validation split of the run that wrote the checkpoint. Constant after construction; one thread
// opens it.
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

// Token shards (*.bin, *.npy) or text. `format` overrides detection by name and content: kText, or
// kUint16 for shards.
struct HeldOutFiles {
  std::vector<std::string> paths;
  runspec::DataFormat format = runspec::DataFormat::kAuto;
};

class HeldOutTokens {
 public:
  // No files: the validation split that resolved.yaml above `checkpoint` names. Errors name the
  // file and the fix.
  static StatusOr<HeldOutTokens> Open(const HeldOutFiles& files, const std::string& checkpoint,
                                      const Tokenizer& tokenizer, const runspec::ModelShape& shape,
                                      int threads);

  const TokenSource& tokens() const { return *tokens_; }
  // The training sequence length, or the model's context if there is no run file; at most the
  // context, and at most the number of tokens minus 1.
  int64_t sequence() const { return sequence_; }

 private:
  std::unique_ptr<TokenSource> tokens_;
  int64_t sequence_ = 1;
};

}  // namespace gp::engine
