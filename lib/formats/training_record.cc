#include "formats/training_record.h"

#include <charconv>
#include <system_error>
#include <type_traits>

namespace gp::formats {
namespace {

Status Read(const char* key, const std::string& text, std::optional<std::string>& value) {
  (void)key;
  value = text;
  return OkStatus();
}

template <typename Number>
Status Read(const char* key, const std::string& text, std::optional<Number>& value) {
  Number number = 0;
  const char* const text_end = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), text_end, number);
  bool good = error == std::errc() && end == text_end;
  if constexpr (std::is_signed_v<Number>) good = good && number >= 0;
  if (!good) {
    return InvalidArgument("record.{} is '{}', expected a number of 0 or more", key, text);
  }
  value = number;
  return OkStatus();
}

}  // namespace

std::map<std::string, std::string> TextsOf(const TrainingRecord& record) {
  std::map<std::string, std::string> texts;
  contract::VisitFields(record, [&](const contract::FieldInfo& field, const auto& value) {
    if (value) texts[field.name] = fmt::format("{}", *value);
  });
  return texts;
}

StatusOr<TrainingRecord> ParseTrainingRecord(const std::map<std::string, std::string>& texts) {
  TrainingRecord record;
  Status status;
  contract::VisitFields(record, [&](const contract::FieldInfo& field, auto& value) {
    const auto found = texts.find(field.name);
    if (status.ok() && found != texts.end()) status = Read(field.name, found->second, value);
  });
  RETURN_IF_ERROR(status);
  return record;
}

}  // namespace gp::formats
