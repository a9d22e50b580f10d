// EvaluatePython: arithmetic of Python on literals and names.
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>

#include "base/text/excerpt.h"
#include "client/gpctl/nanogpt/python_settings.h"

namespace gp::gpctl {
namespace {

constexpr int kDepthMax = 50;
constexpr char kTooLarge[] = "has a number that is too large";
constexpr char kNotArithmetic[] = "is neither a literal nor arithmetic of numbers";

bool IsNameStart(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsNameCharacter(char c) { return IsNameStart(c) || IsDigit(c); }

std::optional<double> NumberOf(const PythonValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? 1 : 0;
  if (const auto* whole = std::get_if<int64_t>(&value)) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return std::nullopt;
}

std::optional<int64_t> WholeOf(const PythonValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? 1 : 0;
  if (const auto* whole = std::get_if<int64_t>(&value)) return *whole;
  return std::nullopt;
}

// Rounds down, as Python does.
int64_t FloorQuotient(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

StatusOr<PythonValue> Finite(double value) {
  if (!std::isfinite(value)) return InvalidArgument("{}", kTooLarge);
  return PythonValue(value);
}

StatusOr<PythonValue> PowerOfWhole(int64_t base, int64_t exponent) {
  int64_t result = 1;
  for (int64_t i = 0; i < exponent; ++i) {
    if (__builtin_mul_overflow(result, base, &result)) return InvalidArgument("{}", kTooLarge);
    if (base >= -1 && base <= 1 && i > 1)
      return PythonValue(exponent % 2 == 0 ? base * base : base);
  }
  return PythonValue(result);
}

StatusOr<PythonValue> WholeArithmetic(const std::string& sign, int64_t a, int64_t b) {
  int64_t result = 0;
  bool too_large = false;
  if (sign == "+") {
    too_large = __builtin_add_overflow(a, b, &result);
  } else if (sign == "-") {
    too_large = __builtin_sub_overflow(a, b, &result);
  } else if (sign == "*") {
    too_large = __builtin_mul_overflow(a, b, &result);
  } else if (a == std::numeric_limits<int64_t>::min() && b == -1) {
    too_large = true;
  } else if (sign == "//") {
    result = FloorQuotient(a, b);
  } else {
    result = a - FloorQuotient(a, b) * b;
  }
  if (too_large) return InvalidArgument("{}", kTooLarge);
  return PythonValue(result);
}

StatusOr<PythonValue> Arithmetic(const std::string& sign, const PythonValue& a,
                                 const PythonValue& b) {
  const auto* text_a = std::get_if<std::string>(&a);
  const auto* text_b = std::get_if<std::string>(&b);
  if (sign == "+" && text_a != nullptr && text_b != nullptr) return PythonValue(*text_a + *text_b);
  const auto x = NumberOf(a);
  const auto y = NumberOf(b);
  if (!x || !y) return InvalidArgument("{}", kNotArithmetic);
  if ((sign == "/" || sign == "//" || sign == "%") && *y == 0) {
    return InvalidArgument("divides by 0");
  }
  const auto whole_a = WholeOf(a);
  const auto whole_b = WholeOf(b);
  const bool whole = whole_a && whole_b;
  if (sign == "**") {
    if (whole && *whole_b >= 0) return PowerOfWhole(*whole_a, *whole_b);
    return Finite(std::pow(*x, *y));
  }
  if (whole && sign != "/") return WholeArithmetic(sign, *whole_a, *whole_b);
  if (sign == "+") return Finite(*x + *y);
  if (sign == "-") return Finite(*x - *y);
  if (sign == "*") return Finite(*x * *y);
  if (sign == "/") return Finite(*x / *y);
  if (sign == "//") return Finite(std::floor(*x / *y));
  return Finite(*x - std::floor(*x / *y) * *y);
}

class Parser {
 public:
  Parser(std::string_view text, const PythonNames& names, std::set<std::string>* read)
      : rest_(text), names_(names), read_(read) {}

  StatusOr<PythonValue> Whole() {
    ASSIGN_OR_RETURN(PythonValue value, Sum());
    SkipBlanks();
    if (rest_.empty()) return value;
    if (rest_.front() == '(' || rest_.front() == '.' || rest_.front() == '[') {
      return InvalidArgument("calls a function or reads a part of a value");
    }
    return InvalidArgument("{}", kNotArithmetic);
  }

 private:
  void SkipBlanks() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\t' ||
                              rest_.front() == '\n' || rest_.front() == '\r')) {
      rest_.remove_prefix(1);
    }
  }

  // Takes the first of `signs` that the rest begins with; "" for none. The longer ones come first.
  std::string Take(std::initializer_list<std::string_view> signs) {
    SkipBlanks();
    for (const std::string_view sign : signs) {
      if (!rest_.starts_with(sign)) continue;
      rest_.remove_prefix(sign.size());
      return std::string(sign);
    }
    return "";
  }

  StatusOr<PythonValue> Sum() {
    ASSIGN_OR_RETURN(PythonValue value, Product());
    for (std::string sign = Take({"+", "-"}); !sign.empty(); sign = Take({"+", "-"})) {
      ASSIGN_OR_RETURN(const PythonValue other, Product());
      ASSIGN_OR_RETURN(value, Arithmetic(sign, value, other));
    }
    return value;
  }

  std::string TakeProductSign() {
    SkipBlanks();
    return rest_.starts_with("**") ? "" : Take({"*", "//", "/", "%"});
  }

  StatusOr<PythonValue> Product() {
    ASSIGN_OR_RETURN(PythonValue value, Signed());
    for (std::string sign = TakeProductSign(); !sign.empty(); sign = TakeProductSign()) {
      ASSIGN_OR_RETURN(const PythonValue other, Signed());
      ASSIGN_OR_RETURN(value, Arithmetic(sign, value, other));
    }
    return value;
  }

  StatusOr<PythonValue> Signed() {
    if (++depth_ > kDepthMax) return InvalidArgument("is nested too deeply");
    const std::string sign = Take({"+", "-"});
    StatusOr<PythonValue> value = sign.empty() ? Power() : Signed();
    --depth_;
    if (sign.empty() || !value.ok()) return value;
    return Arithmetic(sign, PythonValue(int64_t{0}), *value);
  }

  StatusOr<PythonValue> Power() {
    ASSIGN_OR_RETURN(PythonValue value, Atom());
    if (Take({"**"}).empty()) return value;
    ASSIGN_OR_RETURN(const PythonValue exponent, Signed());
    return Arithmetic("**", value, exponent);
  }

  StatusOr<PythonValue> Atom() {
    SkipBlanks();
    if (rest_.empty()) return InvalidArgument("ends where a value is expected");
    const char c = rest_.front();
    if (c == '(') {
      rest_.remove_prefix(1);
      ASSIGN_OR_RETURN(PythonValue value, Sum());
      if (!Take({")"}).empty()) return value;
      return InvalidArgument("{}", kNotArithmetic);
    }
    if (c == '\'' || c == '"') return Strings();
    if (IsDigit(c) || (c == '.' && rest_.size() > 1 && IsDigit(rest_[1]))) return Number();
    if (IsNameStart(c)) return Name();
    return InvalidArgument("{}", kNotArithmetic);
  }

  // Adjacent strings are concatenated.
  StatusOr<PythonValue> Strings() {
    std::string text;
    while (!rest_.empty() && (rest_.front() == '\'' || rest_.front() == '"')) {
      RETURN_IF_ERROR(AppendString(text));
      SkipBlanks();
    }
    return PythonValue(text);
  }

  Status AppendString(std::string& text) {
    const std::string quote(rest_.starts_with("'''") || rest_.starts_with("\"\"\"") ? 3 : 1,
                            rest_.front());
    rest_.remove_prefix(quote.size());
    while (!rest_.starts_with(quote)) {
      if (rest_.empty()) return InvalidArgument("has a string without an end");
      if (rest_.front() == '\\' && rest_.size() > 1) {
        AppendEscaped(rest_[1], text);
        rest_.remove_prefix(2);
      } else {
        text += rest_.front();
        rest_.remove_prefix(1);
      }
    }
    rest_.remove_prefix(quote.size());
    return OkStatus();
  }

  static void AppendEscaped(char c, std::string& text) {
    switch (c) {
      case 'n':
        text += '\n';
        break;
      case 't':
        text += '\t';
        break;
      case '\\':
      case '\'':
      case '"':
        text += c;
        break;
      default:
        text += '\\';
        text += c;
    }
  }

  StatusOr<PythonValue> Number() {
    std::string digits;
    bool whole = true;
    const bool hexadecimal = rest_.starts_with("0x") || rest_.starts_with("0X");
    while (!rest_.empty()) {
      const char c = rest_.front();
      const bool exponent_sign = !hexadecimal && (c == '+' || c == '-') && !digits.empty() &&
                                 (digits.back() == 'e' || digits.back() == 'E');
      if (!IsNameCharacter(c) && c != '.' && !exponent_sign) break;
      if (!hexadecimal && (c == '.' || c == 'e' || c == 'E')) whole = false;
      if (c != '_') digits += c;
      rest_.remove_prefix(1);
    }
    if (!whole) {
      char* end = nullptr;
      const double value = std::strtod(digits.c_str(), &end);
      if (*end != '\0') return InvalidArgument("has '{}', which is not a number", Excerpt(digits));
      return Finite(value);
    }
    int64_t value = 0;
    const char* const begin = digits.data() + (hexadecimal ? 2 : 0);
    const char* const end = digits.data() + digits.size();
    const auto read = std::from_chars(begin, end, value, hexadecimal ? 16 : 10);
    if (read.ec == std::errc::result_out_of_range) return InvalidArgument("{}", kTooLarge);
    if (read.ec != std::errc() || read.ptr != end) {
      return InvalidArgument("has '{}', which is not a number", Excerpt(digits));
    }
    return PythonValue(value);
  }

  StatusOr<PythonValue> Name() {
    std::string name;
    while (!rest_.empty() && IsNameCharacter(rest_.front())) {
      name += rest_.front();
      rest_.remove_prefix(1);
    }
    const bool quote = !rest_.empty() && (rest_.front() == '\'' || rest_.front() == '"');
    if (quote && name.size() <= 2) {
      return InvalidArgument("has a string with the prefix {}, which is not supported", name);
    }
    if (name == "True" || name == "False") return PythonValue(name == "True");
    if (name == "None") return PythonValue();
    SkipBlanks();
    if (rest_.starts_with("(")) return InvalidArgument("calls {}()", Excerpt(name));
    if (rest_.starts_with(".") || rest_.starts_with("[")) {
      return InvalidArgument("reads a part of {}", Excerpt(name));
    }
    const auto found = names_.find(name);
    if (found == names_.end()) {
      return InvalidArgument("reads '{}', which has no value before it", Excerpt(name));
    }
    if (read_ != nullptr) read_->insert(name);
    return found->second;
  }

  std::string_view rest_;
  const PythonNames& names_;
  std::set<std::string>* read_;
  int depth_ = 0;
};

}  // namespace

StatusOr<PythonValue> EvaluatePython(std::string_view expression, const PythonNames& names,
                                     std::set<std::string>* read) {
  return Parser(expression, names, read).Whole();
}

}  // namespace gp::gpctl
