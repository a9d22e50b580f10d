// What data.format means for the readers of a run's text and token files. Pure functions.
#pragma once

#include "formats/text_file.h"
#include "formats/token_shard.h"
#include "plan/run_spec.h"

namespace gp {

inline formats::TextCheck TextCheckOf(const runspec::DataSpec& data) {
  return {.any_content = data.format == runspec::DataFormat::kText, .setting = "data.format: text"};
}

inline formats::Headerless HeaderlessOf(const runspec::DataSpec& data) {
  return data.format == runspec::DataFormat::kUint16 ? formats::Headerless::kUint16
                                                     : formats::Headerless::kChecked;
}

}  // namespace gp
