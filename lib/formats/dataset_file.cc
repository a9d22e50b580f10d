#include "formats/dataset_file.h"

#include <algorithm>

#include "base/file.h"
#include "base/text/excerpt.h"
#include "formats/json_object.h"
#include "formats/plain_name.h"

namespace gp::formats {
namespace {

using Json = JsonObject::Json;

constexpr int64_t kDatasetVersion = 1;
constexpr uint64_t kDatasetBytesMax = 64 << 20;
constexpr char kPrepareAgain[] = "prepare the data again";

// The word by which the file names a value of an enum.
template <typename T>
struct Word {
  T value;
  std::string_view word;
};
constexpr Word<ShardFormat> kFormats[] = {
    {ShardFormat::kLlmC, "llmc"}, {ShardFormat::kNpy, "npy"}, {ShardFormat::kRaw, "nanogpt"}};
constexpr Word<EndOfTextPlacement> kPlacements[] = {{EndOfTextPlacement::kNone, "none"},
                                                    {EndOfTextPlacement::kBefore, "before"},
                                                    {EndOfTextPlacement::kAfter, "after"}};

template <typename T, size_t kCount>
std::string_view WordOf(const Word<T> (&words)[kCount], T value) {
  for (const Word<T>& word : words) {
    if (word.value == value) return word.word;
  }
  return "";
}

template <typename T, size_t kCount>
T ReadWord(JsonObject& object, const char* key, const Word<T> (&words)[kCount]) {
  std::string text;
  object.Read(key, text);
  for (const Word<T>& word : words) {
    if (word.word == text) return word.value;
  }
  object.Fail(fmt::format("'{}' is '{}', which is unknown", key, Excerpt(text)));
  return words[0].value;
}

StatusOr<DatasetShard> ReadShard(const Json& json, const std::string& place) {
  JsonObject object(json, place, kPrepareAgain);
  DatasetShard shard;
  object.Read("name", shard.name);
  object.Read("split", shard.split);
  object.Read("tokens", shard.tokens);
  object.Read("xxh3_128", shard.xxh3);
  if (!IsPlainName(shard.name)) object.Fail("'name' is not a plain file name");
  if (shard.split != "train" && shard.split != "val") object.Fail("'split' is not train or val");
  RETURN_IF_ERROR(object.status());
  return shard;
}

Status ReadSources(JsonObject& object, const std::string& place, DatasetFile& dataset) {
  for (const Json& json : object.List("sources")) {
    DatasetSource source;
    JsonObject fields(json, fmt::format("{}: sources[{}]", place, dataset.sources.size()),
                      kPrepareAgain);
    fields.Read("path", source.path);
    fields.Read("bytes", source.size_bytes);
    RETURN_IF_ERROR(fields.status());
    dataset.sources.push_back(std::move(source));
  }
  return OkStatus();
}

Status ReadTokenizer(JsonObject object, DatasetFile& dataset) {
  object.Read("kind", dataset.tokenizer_kind);
  object.Read("sha256", dataset.tokenizer_sha256);
  object.Read("vocabulary", dataset.vocabulary);
  const bool possible = dataset.vocabulary >= 1 && dataset.vocabulary <= int64_t{1} << 31;
  if (!possible) object.Fail("'vocabulary' is out of range");
  return object.status();
}

Status ReadEndOfText(JsonObject object, DatasetFile& dataset) {
  dataset.placement = ReadWord(object, "placement", kPlacements);
  if (dataset.placement == EndOfTextPlacement::kNone) return object.status();
  int64_t id = 0;
  object.Read("id", id);
  if (id >= dataset.vocabulary) object.Fail("'id' is not below the vocabulary");
  dataset.end_of_text = static_cast<int32_t>(id);
  return object.status();
}

StatusOr<DatasetFile> ReadFields(const Json& json, const std::string& place) {
  JsonObject object(json, place, kPrepareAgain);
  DatasetFile dataset;
  int64_t version = 0;
  object.Read("version", version);
  if (version != kDatasetVersion) object.Fail(fmt::format("version {} is unknown", version));
  dataset.form.format = ReadWord(object, "format", kFormats);
  object.Read("token_bytes", dataset.form.token_bytes);
  object.Read("documents", dataset.documents);
  object.Read("empty_documents", dataset.empty_documents);
  object.ReadIfPresent("null_lines", dataset.null_lines);
  object.Read("text_bytes", dataset.text_bytes);
  object.Read("created_by", dataset.created_by);
  RETURN_IF_ERROR(object.status());
  RETURN_IF_ERROR(ReadTokenizer(object.Inner("tokenizer"), dataset));
  RETURN_IF_ERROR(ReadEndOfText(object.Inner("end_of_text"), dataset));
  for (const Json& shard : object.List("shards")) {
    const std::string shard_place = fmt::format("{}: shards[{}]", place, dataset.shards.size());
    ASSIGN_OR_RETURN(DatasetShard read, ReadShard(shard, shard_place));
    dataset.shards.push_back(std::move(read));
  }
  RETURN_IF_ERROR(ReadSources(object, place, dataset));
  dataset.spelled_ends = ReadSpelledEnds(object);
  RETURN_IF_ERROR(object.status());
  return dataset;
}

}  // namespace

std::string_view EndOfTextPlacementName(EndOfTextPlacement placement) {
  switch (placement) {
    case EndOfTextPlacement::kNone:
      return "nowhere";
    case EndOfTextPlacement::kBefore:
      return "before each document";
    case EndOfTextPlacement::kAfter:
      return "after each document";
  }
  return "unknown";
}

int64_t DatasetFile::Tokens(std::string_view split) const {
  int64_t tokens = 0;
  for (const DatasetShard& shard : shards) tokens += shard.split == split ? shard.tokens : 0;
  return tokens;
}

const DatasetShard* DatasetFile::Find(std::string_view name) const {
  const auto found = std::find_if(shards.begin(), shards.end(),
                                  [name](const DatasetShard& shard) { return shard.name == name; });
  return found == shards.end() ? nullptr : &*found;
}

std::string FormatDatasetFile(const DatasetFile& dataset) {
  Json end = {{"placement", WordOf(kPlacements, dataset.placement)}};
  if (dataset.placement != EndOfTextPlacement::kNone) end["id"] = dataset.end_of_text.value_or(0);
  Json json = {{"version", kDatasetVersion},
               {"format", WordOf(kFormats, dataset.form.format)},
               {"token_bytes", dataset.form.token_bytes},
               {"tokenizer",
                {{"kind", dataset.tokenizer_kind},
                 {"sha256", dataset.tokenizer_sha256},
                 {"vocabulary", dataset.vocabulary}}},
               {"end_of_text", std::move(end)},
               {"documents", dataset.documents},
               {"empty_documents", dataset.empty_documents},
               {"null_lines", dataset.null_lines},
               {"text_bytes", dataset.text_bytes},
               {"created_by", dataset.created_by},
               {"shards", Json::array()},
               {"sources", Json::array()}};
  for (const DatasetShard& shard : dataset.shards) {
    json["shards"].push_back({{"name", shard.name},
                              {"split", shard.split},
                              {"tokens", shard.tokens},
                              {"xxh3_128", shard.xxh3}});
  }
  for (const DatasetSource& source : dataset.sources) {
    json["sources"].push_back({{"path", source.path}, {"bytes", source.size_bytes}});
  }
  WriteSpelledEnds(dataset.spelled_ends, json);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

StatusOr<DatasetFile> ParseDatasetFile(std::string_view text, const std::string& path) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return DataLoss("{} is not JSON; {}", path, kPrepareAgain);
  return ReadFields(json, path);
}

StatusOr<DatasetFile> ReadDatasetFile(const std::string& directory) {
  const std::string path = JoinPath(directory, kDatasetFileName);
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kDatasetBytesMax));
  return ParseDatasetFile(text, path);
}

}  // namespace gp::formats
