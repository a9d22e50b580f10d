// DatasetAgreement: whether token shards match a run's tokenizer, according to dataset.json beside
// them. Reads the disk; any thread may call.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "tokenizer/tokenizer.h"

namespace gp {

// OK for shards without a dataset.json, and for those that it does not name. InvalidArgument names
// `key` ("data.train"), the file and a fix when the shards were made with another tokenizer or have
// another size; DataLoss when dataset.json cannot be read.
Status CheckShardsAgree(const std::vector<std::string>& shards, const std::string& key,
                        const Tokenizer& tokenizer);

}  // namespace gp
