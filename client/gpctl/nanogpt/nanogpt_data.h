// The data and the pretrained weights that a configuration of nanoGPT names, found beside it. Reads
// the disk; used by gpctl's main thread.
#pragma once

#include <string>
#include <vector>

#include "client/gpctl/terminal/console.h"

namespace gp::gpctl {

// What the run trains on: the folder data/NAME that nanoGPT's prepare.py fills.
struct NanogptData {
  std::string train;      // train.bin; empty if `text` is taken
  std::string val;        // val.bin; empty if there is none
  std::string text;       // input.txt, because there is no train.bin
  std::string tokenizer;  // "chars" or "gpt2"
  bool found = false;     // the files exist
  // What is missing or was assumed, with the command that helps.
  std::vector<std::string> notes;
};

// `config` is the absolute path of the configuration file. The folder is data/NAME beside it, in
// the folder above it (nanoGPT's own place), or in `working_directory`.
NanogptData FindNanogptData(const std::string& config, const std::string& dataset,
                            const std::string& working_directory);

struct NanogptWeights {
  std::string directory;  // of Hugging Face's form
  bool found = false;
  std::string note;  // the command that downloads it, if it is missing
};

// The directory of "gpt2", "gpt2-medium", "gpt2-large" or "gpt2-xl": beside the configuration, in
// the working directory, or in the cache of Hugging Face's libraries.
NanogptWeights FindNanogptWeights(const std::string& config, const std::string& name,
                                  const Console& console);

}  // namespace gp::gpctl
