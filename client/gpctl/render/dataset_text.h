// Prepared data as users see it. Pure functions; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "formats/dataset_file.h"

namespace gp::gpctl {

// A few lines: the files, their contents and how they were made.
std::string DatasetText(const formats::DatasetFile& dataset, const std::string& directory);

// A sentence for each way in which a model might learn something unintended.
std::vector<std::string> DatasetWarnings(const formats::DatasetFile& dataset);

// The data section of a run file that trains on it; `tokenizer` as the user named it.
std::string RunFileLines(const formats::DatasetFile& dataset, const std::string& directory,
                         const std::string& tokenizer);

// A document of kind Dataset.
std::string DatasetJson(const formats::DatasetFile& dataset, const std::string& directory);

}  // namespace gp::gpctl
