#include "formats/event_file.h"

#include <cstring>
#include <optional>
#include <utility>

#include "base/file.h"
#include "base/text/utf8.h"

namespace gp::formats {
namespace {

constexpr uint64_t kHeaderBytes = 12;  // length and its checksum
constexpr uint64_t kTrailerBytes = 4;

// Protobuf field headers: number << 3 | wire type.
constexpr char kWallTime = 1 << 3 | 1;     // Event.wall_time, double
constexpr char kStep = 2 << 3 | 0;         // Event.step, varint
constexpr char kFileVersion = 3 << 3 | 2;  // Event.file_version, text
constexpr char kSummary = 5 << 3 | 2;      // Event.summary, message
constexpr char kSessionLog = 7 << 3 | 2;   // Event.session_log, message
constexpr char kStatus = 1 << 3 | 0;       // SessionLog.status, varint
constexpr char kStart = 1;                 // SessionLog.START
constexpr char kValue = 1 << 3 | 2;        // Summary.value, message
constexpr char kTag = 1 << 3 | 2;          // Value.tag, text
constexpr char kSimpleValue = 2 << 3 | 5;  // Value.simple_value, float
constexpr char kTensor = 8 << 3 | 2;       // Value.tensor, message
constexpr char kMetadata = 9 << 3 | 2;     // Value.metadata, message
constexpr char kDataType = 1 << 3 | 0;     // TensorProto.dtype, varint
constexpr char kTypeOfTexts = 7;           // DT_STRING
constexpr char kShape = 2 << 3 | 2;        // TensorProto.tensor_shape, message
constexpr char kTexts = 8 << 3 | 2;        // TensorProto.string_val, bytes
constexpr char kDimension = 2 << 3 | 2;    // TensorShapeProto.dim, message
constexpr char kDimensionSize = 1 << 3 | 0;
constexpr char kPlugin = 1 << 3 | 2;           // SummaryMetadata.plugin_data, message
constexpr char kPluginName = 1 << 3 | 2;       // PluginData.plugin_name, text
constexpr char kPluginContent = 2 << 3 | 2;    // PluginData.content, bytes
constexpr char kSessionStart = 3 << 3 | 2;     // HParamsPluginData.session_start_info, message
constexpr char kHyperparameters = 1 << 3 | 2;  // SessionStartInfo.hparams, map
constexpr char kStartSeconds = 5 << 3 | 1;     // SessionStartInfo.start_time_secs, double
constexpr char kMapKey = 1 << 3 | 2;
constexpr char kMapValue = 2 << 3 | 2;
constexpr char kNumberValue = 2 << 3 | 1;  // google.protobuf.Value.number_value, double
constexpr char kStringValue = 3 << 3 | 2;
constexpr char kBoolValue = 4 << 3 | 0;

// TFRecord masks each checksum, so that a checksum of data that contains checksums stays useful.
uint32_t MaskedCrc(std::string_view data) {
  const uint32_t crc = Crc32c(data);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

template <typename T>
void AppendFixed(std::string& out, T value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  out.append(bytes, sizeof bytes);
}

void AppendVarint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

void AppendBytes(std::string& out, char field, std::string_view bytes) {
  out.push_back(field);
  AppendVarint(out, bytes.size());
  out.append(bytes);
}

std::string Record(const std::string& event) {
  std::string record;
  AppendFixed<uint64_t>(record, event.size());
  AppendFixed<uint32_t>(record, MaskedCrc(record));
  record += event;
  AppendFixed<uint32_t>(record, MaskedCrc(event));
  return record;
}

std::string EventAt(double wall_time, int64_t step) {
  std::string event;
  event.push_back(kWallTime);
  AppendFixed(event, wall_time);
  event.push_back(kStep);
  AppendVarint(event, static_cast<uint64_t>(step));
  return event;
}

std::string Field(char field, std::string_view bytes) {
  std::string out;
  AppendBytes(out, field, bytes);
  return out;
}

// SummaryMetadata that says which of TensorBoard's plugins shows the value.
std::string MetadataOf(std::string_view plugin, std::string_view content) {
  std::string data = Field(kPluginName, plugin);
  if (!content.empty()) AppendBytes(data, kPluginContent, content);
  return Field(kMetadata, Field(kPlugin, data));
}

std::string ValidUtf8(std::string_view text) {
  std::string valid;
  while (!text.empty()) {
    const std::string_view before = text;
    if (TakeCodePoint(text)) {
      valid += before.substr(0, before.size() - text.size());
    } else {
      text.remove_prefix(1);
      valid += "\xef\xbf\xbd";  // U+FFFD
    }
  }
  return valid;
}

// A google.protobuf.Value.
std::string ValueBytes(const Hyperparameter& value) {
  std::string bytes;
  if (const auto* flag = std::get_if<bool>(&value)) {
    bytes = {kBoolValue, static_cast<char>(*flag ? 1 : 0)};
  } else if (const auto* number = std::get_if<double>(&value)) {
    bytes.push_back(kNumberValue);
    AppendFixed(bytes, *number);
  } else {
    AppendBytes(bytes, kStringValue, ValidUtf8(std::get<std::string>(value)));
  }
  return bytes;
}

std::string SummaryEvent(double wall_time, int64_t step, std::string_view value) {
  std::string event = EventAt(wall_time, step);
  AppendBytes(event, kSummary, Field(kValue, value));
  return Record(event);
}

// Reads protobuf fields from the front of a message. Each method returns nullopt when the bytes run
// out.
class FieldReader {
 public:
  explicit FieldReader(std::string_view bytes) : bytes_(bytes) {}
  bool done() const { return bytes_.empty(); }

  std::optional<uint64_t> Varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && !bytes_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes_[0]);
      bytes_.remove_prefix(1);
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    return std::nullopt;
  }
  std::optional<std::string_view> Bytes() {
    const auto length = Varint();
    if (!length || *length > bytes_.size()) return std::nullopt;
    const std::string_view taken = bytes_.substr(0, *length);
    bytes_.remove_prefix(*length);
    return taken;
  }
  template <typename T>
  std::optional<T> Fixed() {
    if (bytes_.size() < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_.remove_prefix(sizeof value);
    return value;
  }

 private:
  std::string_view bytes_;
};

struct ReadValue {
  Scalar scalar;
  bool is_scalar = false;
};

std::optional<ReadValue> ReadOneValue(std::string_view bytes) {
  FieldReader reader(bytes);
  ReadValue read;
  while (!reader.done()) {
    const auto field = reader.Varint();
    if (field == kTag) {
      const auto tag = reader.Bytes();
      if (!tag) return std::nullopt;
      read.scalar.tag = *tag;
    } else if (field == kSimpleValue) {
      const auto value = reader.Fixed<float>();
      if (!value) return std::nullopt;
      read.scalar.value = *value;
      read.is_scalar = true;
    } else if (field == kTensor || field == kMetadata) {
      if (!reader.Bytes()) return std::nullopt;
    } else {
      return std::nullopt;
    }
  }
  return read;
}

bool ReadSummary(std::string_view bytes, std::vector<Scalar>& scalars) {
  FieldReader reader(bytes);
  while (!reader.done()) {
    if (reader.Varint() != kValue) return false;
    const auto value = reader.Bytes();
    auto read = value ? ReadOneValue(*value) : std::nullopt;
    if (!read) return false;
    if (read->is_scalar) scalars.push_back(std::move(read->scalar));
  }
  return true;
}

std::optional<ScalarEvent> ReadEvent(std::string_view bytes) {
  FieldReader reader(bytes);
  ScalarEvent event;
  while (!reader.done()) {
    const auto field = reader.Varint();
    bool read = false;
    if (field == kWallTime) {
      const auto value = reader.Fixed<double>();
      read = value.has_value();
      event.wall_time = value.value_or(0);
    } else if (field == kStep) {
      const auto value = reader.Varint();
      read = value.has_value();
      event.step = static_cast<int64_t>(value.value_or(0));
    } else if (field == kFileVersion || field == kSessionLog) {
      read = reader.Bytes().has_value();
    } else if (field == kSummary) {
      const auto summary = reader.Bytes();
      read = summary && ReadSummary(*summary, event.scalars);
    }
    if (!read) return std::nullopt;
  }
  return event;
}

}  // namespace

std::string FormatEventFileStart(double wall_time) {
  std::string event;
  event.push_back(kWallTime);
  AppendFixed(event, wall_time);
  AppendBytes(event, kFileVersion, "brain.Event:2");
  return Record(event);
}

std::string FormatSessionStart(double wall_time, int64_t step) {
  std::string event = EventAt(wall_time, step);
  AppendBytes(event, kSessionLog, std::string{kStatus, kStart});
  return Record(event);
}

std::string FormatScalarEvent(double wall_time, int64_t step, const std::vector<Scalar>& scalars) {
  std::string summary;
  for (const Scalar& scalar : scalars) {
    std::string value;
    AppendBytes(value, kTag, scalar.tag);
    value.push_back(kSimpleValue);
    AppendFixed(value, scalar.value);
    AppendBytes(summary, kValue, value);
  }
  std::string event = EventAt(wall_time, step);
  AppendBytes(event, kSummary, summary);
  return Record(event);
}

std::string FormatTextEvent(double wall_time, int64_t step, std::string_view tag,
                            std::string_view text) {
  std::string tensor = {kDataType, kTypeOfTexts};
  AppendBytes(tensor, kShape, Field(kDimension, std::string{kDimensionSize, 1}));
  AppendBytes(tensor, kTexts, ValidUtf8(text));
  return SummaryEvent(wall_time, step,
                      Field(kTag, tag) + MetadataOf("text", "") + Field(kTensor, tensor));
}

std::string FormatHyperparameters(double wall_time,
                                  const std::map<std::string, Hyperparameter>& values) {
  std::string session;
  for (const auto& [key, value] : values) {
    const std::string entry = Field(kMapKey, ValidUtf8(key)) + Field(kMapValue, ValueBytes(value));
    AppendBytes(session, kHyperparameters, entry);
  }
  session.push_back(kStartSeconds);
  AppendFixed(session, wall_time);
  return SummaryEvent(wall_time, 0,
                      Field(kTag, "_hparams_/session_start_info") +
                          MetadataOf("hparams", Field(kSessionStart, session)));
}

std::string EventFileName(int64_t wall_seconds, std::string_view host) {
  return fmt::format("events.out.tfevents.{}.{}", wall_seconds, host);
}

StatusOr<std::vector<ScalarEvent>> ParseEventFile(std::string_view bytes,
                                                  std::vector<ScalarEvent>* intact) {
  std::vector<ScalarEvent> events;
  uint64_t offset = 0;
  const auto damaged = [&](std::string_view what) {
    if (intact != nullptr) *intact = events;
    return DataLoss("the event at byte {} {}", offset, what);
  };
  while (offset < bytes.size()) {
    const std::string_view rest = bytes.substr(offset);
    FieldReader header(rest);
    const auto length = header.Fixed<uint64_t>();
    const auto length_crc = header.Fixed<uint32_t>();
    if (!length || !length_crc) return damaged("is cut short");
    if (*length_crc != MaskedCrc(rest.substr(0, 8))) return damaged("has a damaged length");
    if (rest.size() < kHeaderBytes + kTrailerBytes ||
        *length > rest.size() - kHeaderBytes - kTrailerBytes) {
      return damaged("is cut short");
    }
    const std::string_view data = rest.substr(kHeaderBytes, *length);
    const auto data_crc = FieldReader(rest.substr(kHeaderBytes + *length)).Fixed<uint32_t>();
    if (data_crc != MaskedCrc(data)) return damaged("has a damaged checksum");
    auto event = ReadEvent(data);
    if (!event) return damaged("has unknown contents");
    offset += kHeaderBytes + *length + kTrailerBytes;
    event->end_offset = offset;
    events.push_back(std::move(*event));
  }
  return events;
}

}  // namespace gp::formats
