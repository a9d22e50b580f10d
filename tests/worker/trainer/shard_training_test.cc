// A text, and the same text prepared into shards of each published layout, lead to the same
// weights.
#include <gtest/gtest.h>

#include "base/random_id.h"
#include "corpus/preparation.h"
#include "formats/checkpoint_directory.h"
#include "storage/local_storage.h"
#include "tokenizer/byte_tokenizer.h"
#include "worker/trainer/trainer_process.h"

namespace gp::engine {
namespace {

// A file of the newest checkpoint after six steps on `data`, which is a section of the run file.
std::string Trained(const TemporaryDirectory& directory, const std::string& data,
                    const std::string& name) {
  const std::string whole = TinyRunFile("TEXT", 6, 6);
  const std::string run = Replaced(whole, "{text: [\"TEXT\"], tokenizer: chars}", data);
  const std::string out = directory.File("out-" + RandomId(8));
  const int code = TrainerProcess({"--spec", directory.Write("run.yaml", run), "--out", out},
                                  /*managed=*/false)
                       .Wait();
  EXPECT_EQ(code, 0) << data;
  const auto newest = formats::FindNewestCheckpoint(LocalStorage(), out + "/checkpoints");
  if (!newest.ok() || !*newest) return "no checkpoint after " + data;
  return ReadFile(JoinPath(**newest, name)).value_or("unreadable");
}

// Prepares `text` in this layout; returns the path of the only shard.
std::string Prepare(const TemporaryDirectory& directory, const std::string& text,
                    formats::ShardFormat format) {
  corpus::PreparationOptions options{.format = format};
  options.directory = directory.File("prepared-" + RandomId(8));
  options.sources = *corpus::ExpandSources({directory.Write(RandomId(8) + ".txt", text)});
  if (format == formats::ShardFormat::kRaw) {
    options.val_fraction = 0;
  } else {
    options.val_tokens = 0;
  }
  const auto dataset = corpus::PrepareDataset(ByteTokenizer(), options);
  EXPECT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->shards.size(), 1u);
  return JoinPath(options.directory, dataset->shards.front().name);
}

TEST(ShardTraining, EveryLayoutTrainsAsTheTextItWasMadeFrom) {
  const TemporaryDirectory directory;
  const std::string text = TinyText();
  const size_t cut = text.size() * 9 / 10;  // as data.val_fraction: 0.1 splits
  for (const std::string order : {"random", "sequential", "shuffled"}) {
    const std::string expected =
        Trained(directory,
                fmt::format("{{text: [\"{}\"], tokenizer: bytes, val_fraction: 0.1, order: {}}}",
                            directory.Write("text.txt", text), order),
                "model.safetensors");
    for (const auto format :
         {formats::ShardFormat::kLlmC, formats::ShardFormat::kNpy, formats::ShardFormat::kRaw}) {
      const std::string data =
          fmt::format("{{train: [\"{}\"], val: [\"{}\"], tokenizer: bytes, order: {}}}",
                      Prepare(directory, text.substr(0, cut), format),
                      Prepare(directory, text.substr(cut), format), order);
      EXPECT_TRUE(Trained(directory, data, "model.safetensors") == expected) << data;
    }
  }
}

}  // namespace
}  // namespace gp::engine
