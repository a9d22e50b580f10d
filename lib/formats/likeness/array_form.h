// Guesses whether a file without a header holds numbers that are not token ids, or records that
// hold more than an id. A guess may be wrong: a caller that refuses the file names the setting that
// accepts it. Pure; any thread may call.
#pragma once

#include <optional>
#include <string_view>

namespace gp::formats {

struct FloatForm {
  std::string_view name;   // "float16", "bfloat16", "float32", "float64"
  std::string_view numpy;  // "<f2"; empty for bfloat16, which NumPy lacks
  bool whole = false;      // all are whole, like ids that were converted to floating point
  bool operator==(const FloatForm&) const = default;
};

// The form when `begin` looks like little-endian floating-point numbers: weights, activations,
// signals, or ids that were converted. `begin` holds a piece of kLikenessBytes of the file
// (formats/likeness/likeness.h) that begins with a number, or all of a shorter file.
std::optional<FloatForm> FloatsIn(std::string_view begin);

enum class RecordForm {
  kColumns,  // several numbers a record, such as an id and its mask
  kPairs,    // each token with the next one, so that each occurs twice
};

struct Records {
  RecordForm form = RecordForm::kColumns;
  int columns = 2;  // words of two bytes
  bool operator==(const Records&) const = default;
};

// The form of the records when `begin` looks like records of 2 to 4 numbers; nullopt for token ids,
// which have the same distribution at every position. `begin` as above.
std::optional<Records> RecordsIn(std::string_view begin);

}  // namespace gp::formats
