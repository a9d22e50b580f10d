#include "client/gpctl/render/dataset_text.h"

#include <algorithm>

#include "base/file.h"
#include "base/text/counted_noun.h"
#include "base/text/shell_word.h"
#include "client/gpctl/render/run_json.h"
#include "client/gpctl/terminal/number_text.h"

namespace gp::gpctl {
namespace {

int64_t CountShards(const formats::DatasetFile& dataset, std::string_view split) {
  return std::count_if(
      dataset.shards.begin(), dataset.shards.end(),
      [split](const formats::DatasetShard& shard) { return shard.split == split; });
}

std::string SplitText(const formats::DatasetFile& dataset, const std::string& split) {
  return fmt::format("{} tokens in {} shard{}", WithThousands(dataset.Tokens(split)),
                     CountShards(dataset, split), CountShards(dataset, split) == 1 ? "" : "s");
}

// The files of a split: one path, or a pattern if their names are numbered. Empty for no files.
std::string Pattern(const formats::DatasetFile& dataset, const std::string& directory,
                    const std::string& split) {
  for (const formats::DatasetShard& shard : dataset.shards) {
    if (shard.split != split) continue;
    const size_t number = shard.name.rfind('_');
    if (number == std::string::npos) return JoinPath(directory, shard.name);
    return JoinPath(directory,
                    shard.name.substr(0, number) + "_*" + shard.name.substr(shard.name.rfind('.')));
  }
  return "";
}

}  // namespace

std::string DatasetText(const formats::DatasetFile& dataset, const std::string& directory) {
  std::string text =
      fmt::format("{}  {} form, {} bytes a token\n", directory,
                  formats::ShardFormatName(dataset.form.format), dataset.form.token_bytes);
  text += fmt::format("  train       {}\n", SplitText(dataset, "train"));
  text += fmt::format("  validation  {}\n", SplitText(dataset, "val"));
  text += fmt::format("  documents   {}", WithThousands(dataset.documents));
  if (dataset.empty_documents > 0) {
    text += fmt::format(" ({} empty ones left out)", WithThousands(dataset.empty_documents));
  }
  if (dataset.null_lines > 0) {
    text += fmt::format(" ({} skipped)", CountedNoun(dataset.null_lines, "null line"));
  }
  const bool has_end = dataset.placement != formats::EndOfTextPlacement::kNone;
  text += fmt::format("\n  tokenizer   {}, {} ids, sha256 {}; end of text {}{}\n",
                      dataset.tokenizer_kind, WithThousands(dataset.vocabulary),
                      dataset.tokenizer_sha256.substr(0, 12),
                      has_end ? fmt::format("({}) ", dataset.end_of_text.value_or(0)) : "",
                      formats::EndOfTextPlacementName(dataset.placement));
  return text;
}

std::vector<std::string> DatasetWarnings(const formats::DatasetFile& dataset) {
  std::vector<std::string> warnings;
  for (const formats::SpelledEnd& end : dataset.spelled_ends) {
    warnings.push_back(fmt::format(
        "the text contains {} {}, encoded as ordinary tokens within documents; to end documents "
        "there, prepare with --split-on {} into another folder",
        end.text, end.count == 1 ? "once" : WithThousands(end.count) + " times",
        ShellWord(end.text)));
  }
  if (dataset.placement == formats::EndOfTextPlacement::kNone && dataset.documents > 1) {
    warnings.push_back(
        "the tokenizer has no end-of-text token, so nothing separates the documents");
  }
  return warnings;
}

std::string RunFileLines(const formats::DatasetFile& dataset, const std::string& directory,
                         const std::string& tokenizer) {
  std::string lines = "In a run file:\n  data:\n";
  lines += fmt::format("    train: [{}]\n", Json(Pattern(dataset, directory, "train")).dump());
  const std::string validation = Pattern(dataset, directory, "val");
  if (!validation.empty()) lines += fmt::format("    val: [{}]\n", Json(validation).dump());
  return lines + fmt::format("    tokenizer: {}\n", tokenizer);
}

std::string DatasetJson(const formats::DatasetFile& dataset, const std::string& directory) {
  Json document = Document("Dataset");
  document["directory"] = directory;
  document["train_tokens"] = dataset.Tokens("train");
  document["validation_tokens"] = dataset.Tokens("val");
  document.update(Json::parse(formats::FormatDatasetFile(dataset)));
  return Pretty(document);
}

}  // namespace gp::gpctl
