// DatasetFile: dataset.json, which describes the prepared shards beside it
// (docs/formats/dataset.md). Pure apart from disk access; any thread may call.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "formats/shard_writer.h"
#include "formats/spelled_ends.h"

namespace gp::formats {

inline constexpr char kDatasetFileName[] = "dataset.json";

// Position of the end-of-text token: never inside a document.
enum class EndOfTextPlacement { kNone, kBefore, kAfter };

std::string_view EndOfTextPlacementName(EndOfTextPlacement placement);  // "before each document"

struct DatasetShard {
  std::string name;   // in the folder of dataset.json
  std::string split;  // "train" or "val"
  int64_t tokens = 0;
  std::string xxh3;  // XXH3-128 of the file, hexadecimal
};

struct DatasetSource {
  std::string path;  // as given; "-" is standard input
  uint64_t size_bytes = 0;
};

struct DatasetFile {
  ShardForm form;
  std::string tokenizer_kind;
  std::string tokenizer_sha256;  // Tokenizer::Fingerprint
  int64_t vocabulary = 0;
  std::optional<int32_t> end_of_text;
  EndOfTextPlacement placement = EndOfTextPlacement::kNone;
  std::vector<DatasetShard> shards;  // in the order of their tokens
  std::vector<DatasetSource> sources;
  int64_t documents = 0;
  int64_t empty_documents = 0;  // left out
  int64_t null_lines = 0;       // lines of JSON whose field is null, left out on request
  int64_t text_bytes = 0;
  SpelledEnds spelled_ends;  // that occur in the text
  std::string created_by;    // "gp 0.1.0"

  int64_t Tokens(std::string_view split) const;
  const DatasetShard* Find(std::string_view name) const;  // null: no such shard
};

std::string FormatDatasetFile(const DatasetFile& dataset);

// DataLoss names `path`, and the key that is missing, has another type or an impossible value; a
// shard whose name leads out of the folder is refused.
StatusOr<DatasetFile> ParseDatasetFile(std::string_view json, const std::string& path);

// The file of `directory`; NotFound when there is none.
StatusOr<DatasetFile> ReadDatasetFile(const std::string& directory);

}  // namespace gp::formats
