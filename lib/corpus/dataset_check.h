// DatasetCheck: checks prepared shards against the dataset.json beside them. Reads the disk; any
// thread may call.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>

#include "base/status.h"
#include "formats/dataset_file.h"

namespace gp::corpus {

// Checks that every shard exists with the form, size and bytes in dataset.json, and that every
// token is below the vocabulary. DataLoss names the first file that differs; NotFound: there is no
// dataset.json, or a shard is missing. Cancelled after `stop`.
StatusOr<formats::DatasetFile> VerifyDataset(const std::string& directory,
                                             const std::stop_token& stop = {});

// The largest id of a shard's tokens; -1 for an empty shard. InvalidArgument names one that is not
// below `vocabulary`.
StatusOr<int64_t> LargestToken(const formats::TokenShard& shard, int64_t vocabulary,
                               const std::stop_token& stop = {});

}  // namespace gp::corpus
