#include "formats/pickle.h"

#include <charconv>
#include <unordered_map>

#include "base/text/utf8.h"

namespace gp::formats {
namespace {

using Index = Pickle::Index;
using Value = Pickle::Value;

// Enough for every Unicode character as text and as a number. A value takes 72 bytes of memory, and
// one byte of a file can create one.
constexpr size_t kValuesMax = 1'000'000;
constexpr size_t kMarksMax = 100;

// The instructions of Python's pickletools that dictionaries, text and whole numbers need.
enum Opcode : unsigned char {
  kMark = '(',
  kStop = '.',
  kDict = 'd',
  kEmptyDict = '}',
  kSetItem = 's',
  kSetItems = 'u',
  kPut = 'p',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kMemoize = 0x94,
  kGet = 'g',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kInt = 'I',
  kLong = 'L',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kLong1 = 0x8a,
  kUnicode = 'V',
  kBinUnicode = 'X',
  kShortBinUnicode = 0x8c,
  kBinUnicode8 = 0x8d,
  kProto = 0x80,
  kFrame = 0x95,
};

// Python's "raw-unicode-escape": \uXXXX and \UXXXXXXXX, and every other byte is its own character.
std::optional<std::string> DecodeRawUnicode(std::string_view raw) {
  std::string text;
  for (size_t i = 0; i < raw.size(); ++i) {
    auto character = static_cast<char32_t>(static_cast<unsigned char>(raw[i]));
    const bool escape = raw[i] == '\\' && i + 1 < raw.size() && (raw[i + 1] | 0x20) == 'u';
    if (escape) {
      const size_t digits = raw[i + 1] == 'u' ? 4 : 8;
      const char* begin = raw.data() + i + 2;
      if (raw.size() - i - 2 < digits) return std::nullopt;
      uint32_t value = 0;
      const auto [stop, error] = std::from_chars(begin, begin + digits, value, 16);
      if (error != std::errc() || stop != begin + digits || value > 0x10ffff) return std::nullopt;
      character = value;
      i += 1 + digits;
    }
    AppendCodePoint(character, text);
  }
  return text;
}

}  // namespace

// Pickle's machine: a stack of values, marks on it, and a memo of values seen before.
class PickleReader {
 public:
  PickleReader(std::string_view bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  StatusOr<Pickle> Read() {
    while (!stopped_) {
      at_ = offset_;
      ASSIGN_OR_RETURN(const std::string_view opcode, Take(1));
      RETURN_IF_ERROR(Execute(static_cast<unsigned char>(opcode[0])));
    }
    return std::move(pickle_);
  }

 private:
  template <typename... Args>
  Status Wrong(fmt::format_string<Args...> format, Args&&... args) const {
    return InvalidArgument("{}: byte {}: {}", name_, at_,
                           fmt::format(format, std::forward<Args>(args)...));
  }

  Status Execute(unsigned char opcode) {
    switch (opcode) {
      case kProto:
        return ReadProtocol();
      case kFrame:
        return Take(8).status();
      case kMark:
        return SetMark();
      case kStop:
        return Stop();
      case kEmptyDict:
        return Push({.kind = Value::Kind::kDictionary});
      case kDict:
        return MakeDictionary();
      case kSetItem:
        return stack_.size() < 2 ? Wrong("SETITEM without a key and a value")
                                 : SetItemsFrom(stack_.size() - 2);
      case kSetItems:
        return SetItems();
      default:
        return ExecuteMemo(opcode);
    }
  }

  Status ExecuteMemo(unsigned char opcode) {
    switch (opcode) {
      case kPut:
        return UseNumber(TakeNumberLine(), &PickleReader::Put);
      case kBinPut:
        return UseNumber(TakeInteger(1), &PickleReader::Put);
      case kLongBinPut:
        return UseNumber(TakeInteger(4), &PickleReader::Put);
      case kMemoize:
        return Put(static_cast<int64_t>(memo_.size()));
      case kGet:
        return UseNumber(TakeNumberLine(), &PickleReader::Get);
      case kBinGet:
        return UseNumber(TakeInteger(1), &PickleReader::Get);
      case kLongBinGet:
        return UseNumber(TakeInteger(4), &PickleReader::Get);
      default:
        return ExecuteScalar(opcode);
    }
  }

  Status ExecuteScalar(unsigned char opcode) {
    switch (opcode) {
      case kInt:
      case kLong:
        return UseNumber(TakeNumberLine(), &PickleReader::PushNumber);
      case kBinInt:
        return UseNumber(TakeInteger(4), &PickleReader::PushInt32);
      case kBinInt1:
        return UseNumber(TakeInteger(1), &PickleReader::PushNumber);
      case kBinInt2:
        return UseNumber(TakeInteger(2), &PickleReader::PushNumber);
      case kLong1:
        return PushLong();
      case kUnicode:
        return PushRawUnicode();
      case kBinUnicode:
        return PushText(4);
      case kShortBinUnicode:
        return PushText(1);
      case kBinUnicode8:
        return PushText(8);
      default:
        return Wrong(
            "instruction 0x{:02x} is not supported: gp reads only dictionaries, text and whole "
            "numbers, and never runs code from a pickle",
            opcode);
    }
  }

  StatusOr<std::string_view> Take(uint64_t count) {
    if (count > bytes_.size() - offset_) {
      return Wrong("expected {} more bytes, found {}; the file is cut short", count,
                   bytes_.size() - offset_);
    }
    const std::string_view taken = bytes_.substr(offset_, count);
    offset_ += count;
    return taken;
  }

  // Little endian, unsigned. REQUIRES: at most 8 bytes.
  StatusOr<int64_t> TakeInteger(size_t count) {
    ASSIGN_OR_RETURN(const std::string_view taken, Take(count));
    uint64_t value = 0;
    for (size_t i = count; i-- > 0;) value = value << 8 | static_cast<unsigned char>(taken[i]);
    if (value > INT64_MAX) return Wrong("{} is too large", value);
    return static_cast<int64_t>(value);
  }

  StatusOr<std::string_view> TakeLine() {
    const size_t end = bytes_.find('\n', offset_);
    if (end == std::string_view::npos) return Wrong("the end of a line is missing");
    ASSIGN_OR_RETURN(const std::string_view line, Take(end + 1 - offset_));
    return line.substr(0, line.size() - 1);
  }

  // "65", and "65L" as Python writes long ones.
  StatusOr<int64_t> TakeNumberLine() {
    ASSIGN_OR_RETURN(std::string_view line, TakeLine());
    if (line.ends_with('L')) line.remove_suffix(1);
    int64_t value = 0;
    const auto [stop, error] = std::from_chars(line.data(), line.data() + line.size(), value);
    if (error != std::errc() || stop != line.data() + line.size()) {
      return Wrong("a whole number of at most 64 bits is expected");
    }
    return value;
  }

  Status UseNumber(const StatusOr<int64_t>& number, Status (PickleReader::*use)(int64_t)) {
    return number.ok() ? (this->*use)(*number) : number.status();
  }

  Status ReadProtocol() {
    ASSIGN_OR_RETURN(const int64_t protocol, TakeInteger(1));
    return protocol <= 5 ? OkStatus() : Wrong("pickle protocol {}, expected 0 to 5", protocol);
  }

  Status SetMark() {
    if (marks_.size() >= kMarksMax) return Wrong("nested too deeply");
    marks_.push_back(stack_.size());
    return OkStatus();
  }

  StatusOr<size_t> TakeMark() {
    if (marks_.empty() || marks_.back() > stack_.size()) return Wrong("the stack has no mark");
    const size_t mark = marks_.back();
    marks_.pop_back();
    return mark;
  }

  Status Stop() {
    if (stack_.size() != 1) return Wrong("{} values at the end, expected one", stack_.size());
    if (offset_ != bytes_.size()) return Wrong("the pickle ends before the file does");
    pickle_.root_ = stack_.back();
    stopped_ = true;
    return OkStatus();
  }

  Status Push(Value value) {
    if (pickle_.values_.size() >= kValuesMax) return Wrong("more than {} values", kValuesMax);
    pickle_.values_.push_back(std::move(value));
    stack_.push_back(static_cast<Index>(pickle_.values_.size() - 1));
    return OkStatus();
  }

  Status PushNumber(int64_t number) { return Push({.number = number}); }
  Status PushInt32(int64_t bits) {
    return PushNumber(static_cast<int32_t>(static_cast<uint32_t>(bits)));
  }

  // Two's complement; the first byte is the number of bytes.
  Status PushLong() {
    ASSIGN_OR_RETURN(const int64_t count, TakeInteger(1));
    if (count > 7) return Wrong("a whole number of {} bytes, expected at most 7", count);
    ASSIGN_OR_RETURN(const int64_t bits, TakeInteger(static_cast<size_t>(count)));
    const bool negative = count > 0 && (bits >> (8 * count - 1) & 1) != 0;
    return PushNumber(negative ? bits - (int64_t{1} << (8 * count)) : bits);
  }

  Status PushRawUnicode() {
    ASSIGN_OR_RETURN(const std::string_view line, TakeLine());
    const auto text = DecodeRawUnicode(line);
    if (!text || !IsUtf8(*text)) return Wrong("text with a bad escape");
    return Push({.kind = Value::Kind::kText, .text = *text});
  }

  Status PushText(size_t length_bytes) {
    ASSIGN_OR_RETURN(const int64_t length, TakeInteger(length_bytes));
    ASSIGN_OR_RETURN(const std::string_view text, Take(static_cast<uint64_t>(length)));
    if (!IsUtf8(text)) return Wrong("text that is not UTF-8");
    return Push({.kind = Value::Kind::kText, .text = std::string(text)});
  }

  Status Put(int64_t slot) {
    if (stack_.empty()) return Wrong("the stack has no value to memoize");
    if (memo_.size() >= kValuesMax) return Wrong("more than {} values", kValuesMax);
    memo_[slot] = stack_.back();
    return OkStatus();
  }

  Status Get(int64_t slot) {
    const auto found = memo_.find(slot);
    if (found == memo_.end()) return Wrong("memo {} does not exist", slot);
    if (stack_.size() >= kValuesMax) return Wrong("more than {} values", kValuesMax);
    stack_.push_back(found->second);
    return OkStatus();
  }

  Status MakeDictionary() {
    ASSIGN_OR_RETURN(const size_t mark, TakeMark());
    RETURN_IF_ERROR(Push({.kind = Value::Kind::kDictionary}));
    const Index dictionary = stack_.back();
    stack_.pop_back();
    stack_.insert(stack_.begin() + static_cast<std::ptrdiff_t>(mark), dictionary);
    return SetItemsFrom(mark + 1);
  }

  Status SetItems() {
    ASSIGN_OR_RETURN(const size_t mark, TakeMark());
    return SetItemsFrom(mark);
  }

  // Moves the alternating keys and values from stack position `first` on into the dictionary below
  // them.
  Status SetItemsFrom(size_t first) {
    if (first == 0 || pickle_.values_[stack_[first - 1]].kind != Value::Kind::kDictionary) {
      return Wrong("the stack has no dictionary to add to");
    }
    if ((stack_.size() - first) % 2 != 0) return Wrong("a key without a value");
    auto& entries = pickle_.values_[stack_[first - 1]].entries;
    entry_count_ += (stack_.size() - first) / 2;
    if (entry_count_ > kValuesMax) return Wrong("more than {} values", kValuesMax);
    for (size_t i = first; i < stack_.size(); i += 2) {
      entries.emplace_back(stack_[i], stack_[i + 1]);
    }
    stack_.resize(first);
    return OkStatus();
  }

  const std::string_view bytes_;
  const std::string& name_;
  size_t offset_ = 0;
  size_t at_ = 0;  // where the instruction being executed begins
  bool stopped_ = false;
  Pickle pickle_;
  std::vector<Index> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<int64_t, Index> memo_;
  size_t entry_count_ = 0;
};

StatusOr<Pickle> Pickle::Parse(std::string_view bytes, const std::string& name) {
  return PickleReader(bytes, name).Read();
}

const Value* Pickle::Find(const Value& dictionary, std::string_view key) const {
  const Value* found = nullptr;
  for (const auto& [name, value] : dictionary.entries) {
    if (at(name).kind == Value::Kind::kText && at(name).text == key) found = &at(value);
  }
  return found;
}

}  // namespace gp::formats
