#include "coordinator/telemetry/curve_columns.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <bit>
#include <set>

#include "base/check.h"
#include "base/text/excerpt.h"
#include "contract/training_point.h"
#include "gp/store/v1/run_log.pb.h"

namespace gp::coordinator {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using pb = ::gp::store::v1::StoredPoint;
using contract::TrainingPoint;

struct Charted {
  std::string key;
  int number = 0;
  std::optional<double> none;
};

int NumberOf(const char* name) {
  const auto* field = pb::descriptor()->FindFieldByName(name);
  GP_CHECK(field != nullptr);
  return field->number();
}

std::vector<Charted> ChartedFields() {
  std::vector<Charted> charted;
  TrainingPoint::ForEachField([&](const contract::FieldInfo& field, auto member) {
    using Member = std::remove_cvref_t<decltype(std::declval<TrainingPoint>().*member)>;
    if (!field.charted) return;
    // protobuf does not write a number that is 0 and not optional.
    const bool has_zero = std::is_same_v<Member, double> && !field.zero_is_unknown;
    charted.push_back(
        {field.key, NumberOf(field.name), has_zero ? std::optional<double>(0) : std::nullopt});
  });
  return charted;
}

std::string KeysOf(const std::vector<Charted>& charted) {
  std::string keys;
  for (const Charted& field : charted) keys += (keys.empty() ? "" : ", ") + field.key;
  return keys;
}

}  // namespace

StatusOr<CurveColumns> CurveColumns::Make(const std::vector<std::string>& fields) {
  static const std::vector<Charted> kCharted = ChartedFields();
  CurveColumns columns;
  if (fields.empty()) {
    return InvalidArgument("fields: expected at least one of {}, or names of scores",
                           KeysOf(kCharted));
  }
  if (std::set(fields.begin(), fields.end()).size() < fields.size()) {
    return InvalidArgument("fields: the same field twice");
  }
  for (const std::string& field : fields) {
    const auto found = std::find_if(kCharted.begin(), kCharted.end(),
                                    [&](const Charted& one) { return one.key == field; });
    if (found != kCharted.end()) {
      columns.columns_.push_back({found->number, found->none});
    } else if (contract::IsScoreName(field)) {
      columns.columns_.push_back({});
    } else {
      return InvalidArgument("unknown field '{}'; a point has {} and scores such as {}",
                             Excerpt(field), KeysOf(kCharted), contract::kBitsPerByte);
    }
  }
  columns.fields_ = fields;
  return columns;
}

// Reads one message.
class CurveColumns::Reader {
 public:
  Reader(const CurveColumns& columns, std::string_view bytes, CurveRow& row)
      : columns_(columns),
        input_(reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int>(bytes.size())),
        row_(row) {}

  bool Read() {
    row_.step = row_.tokens = row_.at_us = 0;
    row_.epoch = 0;
    row_.values.clear();
    for (const Column& column : columns_.columns_) row_.values.push_back(column.none);
    while (const uint32_t tag = input_.ReadTag()) {
      if (!ReadField(tag)) return false;
    }
    return input_.ConsumedEntireMessage();
  }

 private:
  bool ReadField(uint32_t tag) {
    switch (WireFormatLite::GetTagWireType(tag)) {
      case WireFormatLite::WIRETYPE_VARINT:
        return ReadWhole(WireFormatLite::GetTagFieldNumber(tag));
      case WireFormatLite::WIRETYPE_FIXED64:
        return ReadNumber(WireFormatLite::GetTagFieldNumber(tag));
      case WireFormatLite::WIRETYPE_LENGTH_DELIMITED:
        if (WireFormatLite::GetTagFieldNumber(tag) == pb::kScoresFieldNumber) return ReadScore();
        break;
      default:
        break;
    }
    return WireFormatLite::SkipField(&input_, tag);
  }

  bool ReadWhole(int number) {
    uint64_t value = 0;
    if (!input_.ReadVarint64(&value)) return false;
    switch (number) {
      case pb::kStepFieldNumber:
        row_.step = static_cast<int64_t>(value);
        break;
      case pb::kTokensFieldNumber:
        row_.tokens = static_cast<int64_t>(value);
        break;
      case pb::kEpochFieldNumber:
        row_.epoch = value;
        break;
      case pb::kAtUsFieldNumber:
        row_.at_us = static_cast<int64_t>(value);
        break;
      default:
        break;
    }
    return true;
  }

  bool ReadNumber(int number) {
    uint64_t bits = 0;
    if (!input_.ReadLittleEndian64(&bits)) return false;
    for (size_t i = 0; i < columns_.columns_.size(); ++i) {
      if (columns_.columns_[i].number == number) row_.values[i] = std::bit_cast<double>(bits);
    }
    return true;
  }

  bool ReadScore() {
    uint32_t size = 0;
    std::string bytes;
    ::gp::store::v1::NamedNumber score;
    if (!input_.ReadVarint32(&size) || !input_.ReadString(&bytes, static_cast<int>(size))) {
      return false;
    }
    if (!score.ParseFromString(bytes)) return false;
    for (size_t i = 0; i < columns_.columns_.size(); ++i) {
      const bool is_score = columns_.columns_[i].number == 0;
      if (is_score && columns_.fields_[i] == score.name()) row_.values[i] = score.value();
    }
    return true;
  }

  const CurveColumns& columns_;
  CodedInputStream input_;
  CurveRow& row_;
};

bool CurveColumns::Read(std::string_view bytes, CurveRow& row) const {
  return Reader(*this, bytes, row).Read();
}

}  // namespace gp::coordinator
