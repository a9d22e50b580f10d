#include "tokenizer/json_file.h"

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "formats/file_kind.h"
#include "formats/strict_json.h"

namespace gp {
namespace {

constexpr uint64_t kTokenizerBytesMax = 32 << 20;

}  // namespace

StatusOr<std::string> ReadTokenizerText(const std::string& path) {
  auto text = ReadFile(path, kTokenizerBytesMax);
  RETURN_IF_ERROR(text.status());
  if (text->empty()) return InvalidArgument("{}: the file is empty", path);
  RETURN_IF_ERROR(formats::RefuseOtherText(path, *text, "a tokenizer"));
  return text;
}

StatusOr<nlohmann::json> ReadJsonFile(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadTokenizerText(path));
  return formats::ParseJsonFile(text, path);
}

}  // namespace gp
