#include "contract/codec.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

namespace gp::link {
namespace {

using Json = nlohmann::json;
using contract::ExitCause;

// Visits the fields of a value that has its own list of fields (contract/field.h).
template <typename Archive, contract::Listed T>
void ListedFields(Archive& archive, T& value) {
  contract::VisitFields(value, [&archive](const contract::FieldInfo& field, auto& member) {
    if (field.omit_default) {
      archive.Later(field.name, member);
    } else {
      archive(field.name, member);
    }
  });
}

// Fields(archive, message) lists a message's fields once, for both directions. A field that a later
// version adds must be a std::optional, because older peers do not send it.
template <typename Archive>
void Fields(Archive& archive, Hello& m) {
  archive("protocol", m.protocol);
  archive("protocol_min", m.protocol_min);
  archive("version", m.version);
  archive("incarnation", m.incarnation);
}

template <typename Archive>
void Fields(Archive& archive, Start& m) {
  archive("run_id", m.run_id);
  archive("run_name", m.run_name);
  archive("epoch", m.epoch);
  archive("rank", m.rank);
  archive("world_size", m.world_size);
  archive("resolved", m.resolved);
  archive("run_directory", m.run_directory);
  archive("data_address", m.data_address);
  archive("resume", m.resume);
  archive("threads", m.threads);
  archive("logical_shards", m.logical_shards);
  archive("begun", m.begun);
  archive("begins_leg", m.begins_leg);
  archive("passes_over", m.passes_over);
  archive("isa", m.isa);
  archive("kernels", m.kernels);
}

template <typename Archive>
void Fields(Archive& archive, Configure& m) {
  archive("epoch", m.epoch);
  archive("rank", m.rank);
  archive("addresses", m.addresses);
  archive("secret", m.secret);
  archive("isa", m.isa);
  archive("kernels", m.kernels);
  archive("nccl_id", m.nccl_id);
  archive("encrypted", m.encrypted);
}

template <typename Archive>
void Fields(Archive& archive, Go& m) {
  archive("epoch", m.epoch);
}

template <typename Archive>
void Fields(Archive& archive, Stop& m) {
  archive("reason", m.reason);
  archive("save_within_ms", m.save_within_ms);
}

template <typename Archive>
void Fields(Archive& archive, SealResult& m) {
  archive("step", m.step);
  archive("sealed", m.sealed);
  archive("reason", m.reason);
}

template <typename Archive>
void Fields(Archive& archive, Listening& m) {
  archive("address", m.address);
  archive("isa_levels", m.isa_levels);
  archive("kernels", m.kernels);
  archive("nccl_id", m.nccl_id);
}

template <typename Archive>
void Fields(Archive& archive, Ready& m) {
  archive("epoch", m.epoch);
  archive("step", m.step);
}

template <typename Archive>
void Fields(Archive& archive, StepReport& m) {
  ListedFields(archive, m.point);
  ListedFields(archive, m.rank);
}

template <typename Archive>
void Fields(Archive& archive, CheckpointReport& m) {
  archive("epoch", m.epoch);
  ListedFields<Archive, contract::WrittenCheckpoint>(archive, m);
  archive("held_up_seconds", m.held_up_seconds);
}

template <typename Archive>
void Fields(Archive& archive, Finished& m) {
  archive("epoch", m.epoch);
  archive("step", m.step);
}

template <typename Archive>
void Fields(Archive& archive, Failed& m) {
  archive("cause", m.cause);
  archive("message", m.message);
}

template <typename Archive>
void Fields(Archive& archive, Stopped& m) {
  archive("epoch", m.epoch);
  archive("step", m.step);
  archive("reason", m.reason);
}

template <typename Archive>
void Fields(Archive& archive, Beat& m) {
  archive("phase", m.phase);
  archive("count", m.count);
  archive("waits_for", m.waits_for);
  archive("peer", m.peer);
  archive("longest_ms", m.longest_ms);
}

template <typename Archive>
void Fields(Archive& archive, Held& m) {
  archive("epoch", m.epoch);
  archive("committed", m.committed);
  archive("prepared", m.prepared);
  archive("reason", m.reason);
}

template <typename Archive>
void Fields(Archive& archive, Waiting& m) {
  archive("epoch", m.epoch);
  archive("reason", m.reason);
}

template <typename Archive>
void Fields(Archive& archive, OpenModel& m) {
  archive("directory", m.directory);
  archive("precision", m.precision);
  archive("threads", m.threads);
  archive("streams", m.streams);
  archive("memory_bytes", m.memory_bytes);
}

template <typename Archive>
void Fields(Archive& archive, Generate& m) {
  archive("request", m.request);
  archive("prompt", m.prompt);
  archive("max_tokens", m.max_tokens);
  archive("temperature", m.temperature);
  archive("top_k", m.top_k);
  archive("top_p", m.top_p);
  archive("min_p", m.min_p);
  archive("presence_penalty", m.presence_penalty);
  archive("frequency_penalty", m.frequency_penalty);
  archive("logit_bias", m.logit_bias);
  archive("seed", m.seed);
  archive("sample", m.sample);
  archive("stop", m.stop);
  archive("logprobs", m.logprobs);
  archive("score_prompt", m.score_prompt);
  archive("ignore_end_of_text", m.ignore_end_of_text);
  archive("continues_prompt", m.continues_prompt);
}

template <typename Archive>
void Fields(Archive& archive, Withdraw& m) {
  archive("request", m.request);
}

template <typename Archive>
void Fields(Archive& archive, ModelReady& m) {
  archive("step", m.step);
  archive("precision", m.precision);
  archive("device", m.device);
  archive("streams", m.streams);
  archive("context", m.context);
  archive("vocabulary", m.vocabulary);
  archive("memory_bytes", m.memory_bytes);
  archive("reproducible", m.reproducible);
}

template <typename Archive>
void Fields(Archive& archive, TokenScore& m) {
  archive("logprob", m.logprob);
  archive("top", m.top);
  archive("top_logprobs", m.top_logprobs);
}

template <typename Archive>
void Fields(Archive& archive, TextPiece& m) {
  archive("request", m.request);
  archive("text", m.text);
  archive("tokens", m.tokens);
  archive("scores", m.scores);
  archive("prompt_scores", m.prompt_scores);
  archive("finish", m.finish);
  archive("error", m.error);
}

template <typename Archive>
void Fields(Archive& archive, Generated& m) {
  archive("pieces", m.pieces);
}

template <typename Archive, contract::Listed T>
void Fields(Archive& archive, T& m) {
  ListedFields(archive, m);
}

// Structs that appear as an object inside a message.
template <typename T>
concept Nested =
    contract::Listed<T> || std::is_same_v<T, TokenScore> || std::is_same_v<T, TextPiece>;

class Writer {
 public:
  template <typename T>
  void operator()(const char* key, T& value) {
    object_[key] = ToJson(value);
  }
  template <typename T>
  void operator()(const char* key, std::optional<T>& value) {
    if (value) object_[key] = ToJson(*value);
  }
  // Writes a field that a later version added, which older peers do not send. It is left out while
  // it has its default.
  template <typename T>
  void Later(const char* key, T& value) {
    if (value != T{}) (*this)(key, value);
  }
  Json Take() { return std::move(object_); }

 private:
  template <typename T>
  static Json ToJson(T& value) {
    if constexpr (std::is_same_v<T, ExitCause>) {
      return static_cast<int>(value);
    } else if constexpr (Nested<T>) {
      Writer nested;
      Fields(nested, value);
      return nested.Take();
    } else {
      return value;  // NaN and infinity become null
    }
  }

  template <Nested T>
  static Json ToJson(std::vector<T>& values) {
    Json array = Json::array();
    for (T& value : values) array.push_back(ToJson(value));
    return array;
  }
  // Numbers become text, because keys of a JSON object are text.
  static Json ToJson(std::map<int32_t, double>& values) {
    Json object = Json::object();
    for (const auto& [key, value] : values) object[std::to_string(key)] = value;
    return object;
  }

  Json object_ = Json::object();
};

// Reads fields until the first invalid one, which status() then names.
class Reader {
 public:
  Reader(const Json& object, std::string path) : object_(object), path_(std::move(path)) {
    if (!object.is_object()) status_ = DataLoss("{} is not an object", path_);
  }

  template <typename T>
  void operator()(const char* key, T& value) {
    Read(key, value, /*required=*/true);
  }
  template <typename T>
  void operator()(const char* key, std::optional<T>& value) {
    if (status_.ok() && object_.contains(key)) Read(key, value.emplace(), /*required=*/false);
  }
  template <typename T>
  void Later(const char* key, T& value) {
    Read(key, value, /*required=*/false);
  }
  template <typename T>
  void Later(const char* key, std::optional<T>& value) {
    (*this)(key, value);
  }
  const Status& status() const { return status_; }

 private:
  template <typename T>
  void Read(const char* key, T& value, bool required) {
    if (!status_.ok()) return;
    const auto found = object_.find(key);
    if (found == object_.end()) {
      if (required) status_ = DataLoss("{}.{} is missing", path_, key);
      return;
    }
    if (!FromJson(*found, key, value) && status_.ok()) {
      status_ = DataLoss("{}.{} has the wrong type or is out of range ({})", path_, key,
                         found->type_name());
    }
  }

  template <typename T>
  bool FromJson(const Json& json, const char* key, T& value) {
    if constexpr (Nested<T>) {
      Reader nested(json, path_ + "." + key);
      Fields(nested, value);
      status_ = nested.status();
      return status_.ok();
    } else {
      return Assign(json, value);
    }
  }

  template <Nested T>
  bool FromJson(const Json& json, const char* key, std::vector<T>& values) {
    if (!json.is_array()) return false;
    values.reserve(json.size());
    for (const Json& element : json) {
      if (!FromJson(element, key, values.emplace_back())) return false;
    }
    return true;
  }

  static bool Assign(const Json& json, bool& value) {
    if (json.is_boolean()) value = json.get<bool>();
    return json.is_boolean();
  }
  static bool Assign(const Json& json, double& value) {
    if (json.is_null()) value = std::numeric_limits<double>::quiet_NaN();
    if (json.is_number()) value = json.get<double>();
    return json.is_null() || json.is_number();
  }
  static bool Assign(const Json& json, std::string& value) {
    if (json.is_string()) value = json.get<std::string>();
    return json.is_string();
  }
  static bool Assign(const Json& json, uint64_t& value) {
    if (json.is_number_unsigned()) value = json.get<uint64_t>();
    return json.is_number_unsigned();
  }
  static bool Assign(const Json& json, int64_t& value) {
    constexpr auto kMax = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    if (!json.is_number_integer()) return false;
    if (json.is_number_unsigned() && json.get<uint64_t>() > kMax) return false;
    value = json.get<int64_t>();
    return true;
  }
  static bool Assign(const Json& json, int& value) {
    int64_t wide = 0;
    if (!Assign(json, wide) || wide != static_cast<int>(wide)) return false;
    value = static_cast<int>(wide);
    return true;
  }
  // A cause that this version does not know becomes kError, because it is still a failure.
  static bool Assign(const Json& json, ExitCause& value) {
    int number = 0;
    if (!Assign(json, number) || number < 0) return false;
    const bool known = number <= static_cast<int>(ExitCause::kDiverged);
    value = known ? static_cast<ExitCause>(number) : ExitCause::kError;
    return true;
  }
  template <typename T>
  static bool Assign(const Json& json, std::vector<T>& value) {
    if (!json.is_array()) return false;
    value.reserve(json.size());
    for (const Json& element : json) {
      if (!Assign(element, value.emplace_back())) return false;
    }
    return true;
  }
  template <typename T>
  static bool Assign(const Json& json, std::map<std::string, T>& value) {
    if (!json.is_object()) return false;
    for (const auto& [key, element] : json.items()) {
      if (!Assign(element, value[key])) return false;
    }
    return true;
  }

  static bool Assign(const Json& json, std::map<int32_t, double>& value) {
    if (!json.is_object()) return false;
    for (const auto& [key, element] : json.items()) {
      int32_t id = 0;
      const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
      if (error != std::errc() || end != key.data() + key.size()) return false;
      if (!Assign(element, value[id])) return false;
    }
    return true;
  }

  const Json& object_;
  const std::string path_;
  Status status_;
};

struct MessageType {
  uint16_t number = 0;
  const char* name = nullptr;
};

// In the order of Message. 5 (Fence) and 10 (Fenced) are reserved.
constexpr auto kTypes = std::to_array<MessageType>({{1, "Hello"},       {2, "Start"},
                                                    {3, "Configure"},   {4, "Go"},
                                                    {6, "Stop"},        {7, "SealResult"},
                                                    {8, "Listening"},   {9, "Ready"},
                                                    {11, "StepReport"}, {12, "CheckpointReport"},
                                                    {13, "Finished"},   {14, "Failed"},
                                                    {15, "Stopped"},    {16, "Waiting"},
                                                    {17, "OpenModel"},  {18, "Generate"},
                                                    {19, "Withdraw"},   {20, "ModelReady"},
                                                    {21, "Generated"},  {22, "Beat"},
                                                    {23, "Held"}});
static_assert(kTypes.size() == std::variant_size_v<Message>);

template <size_t kIndex>
StatusOr<Message> DecodeAs(const Json& json) {
  std::variant_alternative_t<kIndex, Message> message;
  Reader reader(json, kTypes[kIndex].name);
  Fields(reader, message);
  if (!reader.status().ok()) return reader.status();
  return Message(std::move(message));
}

template <size_t... kIndices>
StatusOr<Message> DecodeIndex(size_t index, const Json& json, std::index_sequence<kIndices...>) {
  using Decoder = StatusOr<Message> (*)(const Json&);
  static constexpr std::array<Decoder, sizeof...(kIndices)> kDecoders = {&DecodeAs<kIndices>...};
  return kDecoders[index](json);
}

void AppendLittleEndian(std::string& out, uint32_t value, int byte_count) {
  for (int i = 0; i < byte_count; ++i) out += static_cast<char>(value >> (8 * i));
}

uint32_t LittleEndian(std::string_view bytes) {
  uint32_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = (value << 8) | static_cast<uint8_t>(bytes[i]);
  return value;
}

}  // namespace

uint16_t TypeOf(const Message& message) { return kTypes[message.index()].number; }

std::string EncodeFrame(const Message& message) {
  Message copy = message;
  Writer writer;
  std::visit([&writer](auto& alternative) { Fields(writer, alternative); }, copy);
  const std::string payload =
      writer.Take().dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
  std::string frame;
  frame.reserve(kHeaderBytes + payload.size());
  AppendLittleEndian(frame, static_cast<uint32_t>(payload.size()), 4);
  AppendLittleEndian(frame, TypeOf(message), 2);
  AppendLittleEndian(frame, 0, 2);
  return frame + payload;
}

StatusOr<FrameHeader> DecodeHeader(std::string_view bytes) {
  FrameHeader header;
  header.payload_bytes = LittleEndian(bytes.substr(0, 4));
  header.type = static_cast<uint16_t>(LittleEndian(bytes.substr(4, 2)));
  if (header.payload_bytes > kPayloadBytesMax) {
    return DataLoss("the frame has {} bytes; at most {} are allowed", header.payload_bytes,
                    kPayloadBytesMax);
  }
  if (LittleEndian(bytes.substr(6, 2)) != 0) return DataLoss("frame header's last field is not 0");
  return header;
}

StatusOr<Message> DecodePayload(uint16_t type, std::string_view payload) {
  const auto* const known =
      std::find_if(kTypes.begin(), kTypes.end(),
                   [type](const MessageType& each) { return each.number == type; });
  if (known == kTypes.end()) {
    return Unimplemented("message type {} is not known to this version", type);
  }
  const Json json = Json::parse(payload, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return DataLoss("{} is not valid JSON", known->name);
  return DecodeIndex(static_cast<size_t>(known - kTypes.begin()), json,
                     std::make_index_sequence<std::variant_size_v<Message>>());
}

}  // namespace gp::link
