#include "bench/peer_bench/random_checkpoint.h"

#include <chrono>
#include <memory>
#include <vector>

#include "formats/recorded_precision.h"
#include "storage/local_storage.h"
#include "tokenizer/byte_pair_tokenizer.h"
#include "tokenizer/char_tokenizer.h"
#include "worker/checkpoint/checkpoint_writer.h"

namespace gp::engine {
namespace {

constexpr uint64_t kRandomWeightsSeed = 1337;
constexpr std::chrono::minutes kSaveMax(5);

StatusOr<std::unique_ptr<Tokenizer>> TokenizerFor(int64_t vocabulary) {
  if (vocabulary > 256) return BytePairTokenizer::InstalledGpt2();
  std::vector<char32_t> characters;
  for (int64_t i = 0; i < vocabulary; ++i) characters.push_back(static_cast<char32_t>('!' + i));
  return std::make_unique<CharTokenizer>(characters);
}

}  // namespace

StatusOr<std::string> WriteRandomCheckpoint(const std::string& directory,
                                            const ModelOptions& options) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Tokenizer> tokenizer,
                   TokenizerFor(options.shape.vocabulary));
  const auto model = MakeLanguageModel({.shape = options.shape, .micro_batch = 1, .sequence = 8});
  InitializeNormal(kRandomWeightsSeed, *model);
  const std::vector<float> zeros(model->parameters().size());
  CheckpointState state{
      .step = 1, .parameters = model->parameters(), .first_moment = zeros, .second_moment = zeros};
  state.record.precision = formats::PrecisionText(options.precision);
  CheckpointWriter writer(std::make_shared<LocalStorage>(), directory,
                          {.run_id = "bench",
                           .run_name = "bench",
                           .incarnation = "bench",
                           .shape = options.shape,
                           .data_fingerprint = "none",
                           .tokenizer = tokenizer->Serialized(),
                           .tokenizer_fingerprint = tokenizer->Fingerprint()},
                          {});
  RETURN_IF_ERROR(writer.Start(state));
  ASSIGN_OR_RETURN(const SavedCheckpoint saved, writer.Wait(kSaveMax));
  return saved.directory;
}

}  // namespace gp::engine
