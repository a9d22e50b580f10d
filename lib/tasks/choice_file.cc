#include "tasks/choice_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/text/excerpt.h"
#include "formats/file_kind.h"
#include "formats/strict_json.h"
#include "formats/text_stream.h"

namespace gp::tasks {
namespace {

using Json = nlohmann::json;

constexpr size_t kPieceBytes = size_t{1} << 16;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

const char* Expected(ChoiceForm form) {
  return form == ChoiceForm::kHellaSwag ? "HellaSwag's form: \"ctx\", \"endings\" and \"label\""
                                        : "\"question\" or \"context\", \"choices\" and \"label\"";
}

StatusOr<std::string> ReadText(const Json& object, const char* key) {
  const Json& value = formats::ValueOrNull(object, key);
  if (!value.is_string()) return InvalidArgument("expected \"{}\" to be text", key);
  return value.get<std::string>();
}

// Reads a whole number, or a text of one digit, which the Hugging Face copy of HellaSwag has.
StatusOr<int64_t> ReadLabel(const Json& object, size_t endings) {
  const Json& value = formats::ValueOrNull(object, "label");
  uint64_t label = kEndingsMax;
  if (value.is_number_unsigned()) label = value.get<uint64_t>();
  if (value.is_string()) {
    const auto digits = value.get<std::string>();
    const bool number = digits.size() == 1 && digits[0] >= '0' && digits[0] <= '9';
    if (number) label = static_cast<uint64_t>(digits[0] - '0');
  }
  if (label < endings) return static_cast<int64_t>(label);
  return InvalidArgument(
      "expected \"label\" to be the index of the right ending, from 0 to {}, got {}", endings - 1,
      value.is_null() ? "none"
                      : Excerpt(value.dump(-1, ' ', false, Json::error_handler_t::replace)));
}

StatusOr<std::vector<std::string>> ReadEndings(const Json& object, const char* key) {
  const Json& list = formats::ValueOrNull(object, key);
  if (!list.is_array() || list.size() < 2 || list.size() > kEndingsMax) {
    return InvalidArgument("expected \"{}\" to be a list of 2 to {} texts", key, kEndingsMax);
  }
  std::vector<std::string> endings;
  for (const Json& ending : list) {
    if (!ending.is_string() || ending.get_ref<const std::string&>().empty()) {
      return InvalidArgument("\"{}\"[{}]: expected text that is not empty", key, endings.size());
    }
    endings.push_back(ending.get<std::string>());
  }
  return endings;
}

StatusOr<std::string> ReadContext(const Json& object, ChoiceForm form) {
  const char* key = "ctx";
  if (form == ChoiceForm::kOwn) {
    const bool question = object.contains("question");
    if (question && object.contains("context")) {
      return InvalidArgument("has \"question\" and \"context\"; expected one of them");
    }
    key = question ? "question" : "context";
  }
  ASSIGN_OR_RETURN(std::string context, ReadText(object, key));
  if (context.empty()) return InvalidArgument("expected \"{}\" not to be empty", key);
  return context;
}

StatusOr<std::optional<HellaSwagParts>> ReadParts(const Json& object) {
  for (const char* key : {"activity_label", "ctx_a", "ctx_b"}) {
    if (!object.contains(key)) return std::nullopt;
  }
  HellaSwagParts parts;
  ASSIGN_OR_RETURN(parts.activity_label, ReadText(object, "activity_label"));
  ASSIGN_OR_RETURN(parts.ctx_a, ReadText(object, "ctx_a"));
  ASSIGN_OR_RETURN(parts.ctx_b, ReadText(object, "ctx_b"));
  return parts;
}

StatusOr<ChoiceItem> ReadItem(const Json& object, ChoiceForm form) {
  const bool hellaswag = form == ChoiceForm::kHellaSwag;
  const char* list = hellaswag ? "endings" : "choices";
  if (!object.contains(list)) return InvalidArgument("expected {}", Expected(form));
  ChoiceItem item;
  ASSIGN_OR_RETURN(item.context, ReadContext(object, form));
  ASSIGN_OR_RETURN(item.endings, ReadEndings(object, list));
  ASSIGN_OR_RETURN(item.label, ReadLabel(object, item.endings.size()));
  if (!hellaswag) return item;
  ASSIGN_OR_RETURN(item.parts, ReadParts(object));
  return item;
}

// A line with `endings` is HellaSwag's.
ChoiceForm FormOf(const Json& object) {
  return object.contains("endings") ? ChoiceForm::kHellaSwag : ChoiceForm::kOwn;
}

// Reads a file line by line.
class ChoiceReader {
 public:
  ChoiceReader(const std::string& path, std::optional<ChoiceForm> form) : form_(form) {
    file_.path = path;
  }

  Status Read() {
    ASSIGN_OR_RETURN(formats::TextStream stream, formats::TextStream::Open(file_.path));
    RETURN_IF_ERROR(formats::RefuseOtherText(file_.path, stream.head(), "lines of JSON"));
    std::string piece(kPieceBytes, '\0');
    while (true) {
      ASSIGN_OR_RETURN(const size_t size, stream.Read(piece));
      bytes_ += size;
      if (bytes_ > kTextBytesMax) return TooLarge("1 GiB of text");
      RETURN_IF_ERROR(AddPiece(std::string_view(piece).substr(0, size)));
      if (size < piece.size()) break;
    }
    RETURN_IF_ERROR(EndLine());
    if (!file_.items.empty()) return OkStatus();
    return InvalidArgument("{} is empty; expected {} on each line", file_.path,
                           Expected(form_.value_or(ChoiceForm::kHellaSwag)));
  }

  ChoiceFile Take() {
    file_.form = *form_;
    return std::move(file_);
  }

 private:
  Status TooLarge(const char* limit) const {
    return ResourceExhausted("{} has more than {}; split it", file_.path, limit);
  }

  Status AddPiece(std::string_view piece) {
    while (!piece.empty()) {
      const size_t end = std::min(piece.find('\n'), piece.size());
      if (line_.size() + end > kLineBytesMax) {
        return ResourceExhausted("{}:{}: the line is longer than {} bytes; expected one question",
                                 file_.path, number_, kLineBytesMax);
      }
      line_ += piece.substr(0, end);
      if (end == piece.size()) return OkStatus();
      piece.remove_prefix(end + 1);
      RETURN_IF_ERROR(EndLine());
    }
    return OkStatus();
  }

  Status EndLine() {
    const Status status = AddLine();
    line_.clear();
    if (!status.ok()) return WithContext(status, fmt::format("{}:{}", file_.path, number_));
    ++number_;
    return OkStatus();
  }

  Status AddLine() {
    std::string_view line = line_;
    if (number_ == 1 && line.starts_with(kByteOrderMark)) line.remove_prefix(3);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) return OkStatus();
    if (file_.items.size() == kItemsMax) return TooLarge("1,000,000 lines");
    ASSIGN_OR_RETURN(const Json object, formats::ParseJsonObject(line));
    if (!form_) form_ = FormOf(object);
    ASSIGN_OR_RETURN(ChoiceItem item, ReadItem(object, *form_));
    item.line = number_;
    file_.items.push_back(std::move(item));
    return OkStatus();
  }

  ChoiceFile file_;
  std::optional<ChoiceForm> form_;
  std::string line_;  // the current line, as far as it was read
  int64_t number_ = 1;
  uint64_t bytes_ = 0;
};

}  // namespace

int64_t ChoiceFile::row_count() const {
  int64_t rows = 0;
  for (const ChoiceItem& item : items) rows += std::ssize(item.endings);
  return rows;
}

StatusOr<ChoiceFile> ReadChoiceFile(const std::string& path, std::optional<ChoiceForm> form) {
  ChoiceReader reader(path, form);
  RETURN_IF_ERROR(reader.Read());
  return reader.Take();
}

std::string TaskName(const std::string& path) {
  std::string name = path.substr(path.rfind('/') + 1);
  for (const std::string_view ending : {".gz", ".zst", ".jsonl", ".json", ".txt"}) {
    if (name.ends_with(ending) && name.size() > ending.size()) {
      name.resize(name.size() - ending.size());
    }
  }
  const auto plain = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '.';
  };
  std::replace_if(
      name.begin(), name.end(), [&](char c) { return !plain(c); }, '_');
  return name;
}

}  // namespace gp::tasks
