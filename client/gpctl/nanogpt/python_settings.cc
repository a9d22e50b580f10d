#include "client/gpctl/nanogpt/python_settings.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "base/text/excerpt.h"

namespace gp::gpctl {
namespace {

constexpr std::string_view kConfigurator = "configurator.py";

// One statement without its comments.
struct Statement {
  int line = 0;
  size_t indent = 0;
  std::string text;
};

std::string Trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n\f");
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t\r\n\f") - first + 1));
}

// Cuts a file into statements: at line breaks and ';' outside of brackets and strings.
class Cutter {
 public:
  explicit Cutter(std::string_view text) : text_(text) {}

  std::vector<Statement> Cut() {
    while (at_ < text_.size()) Step();
    End();
    return std::move(statements_);
  }

 private:
  bool Begins(std::string_view what) const { return text_.substr(at_).starts_with(what); }

  void Step() {
    const char c = text_[at_];
    if (c == '\'' || c == '"') return TakeString();
    if (c == '#') return SkipComment();
    if (Begins("\\\n") || Begins("\\\r\n")) {
      at_ += Begins("\\\n") ? 2 : 3;
      ++line_;
      current_.text += ' ';
      return;
    }
    if (c == '(' || c == '[' || c == '{') ++depth_;
    if (c == ')' || c == ']' || c == '}') depth_ = std::max(0, depth_ - 1);
    if ((c == '\n' || c == ';') && depth_ == 0) {
      End();
      begins_line_ = c == '\n';
    } else {
      Append(c);
    }
    if (c == '\n') ++line_;
    ++at_;
  }

  void Append(char c) {
    if (current_.text.empty()) {
      if (c == ' ' || c == '\t') {
        if (begins_line_) ++current_.indent;
        return;
      }
      current_.line = line_;
    }
    current_.text += c == '\n' ? ' ' : c;
  }

  void TakeString() {
    const char quote = text_[at_];
    const bool is_triple = Begins(std::string(3, quote));
    const std::string end(is_triple ? 3 : 1, quote);
    for (size_t i = 0; i < end.size(); ++i) AppendOfString(quote);
    while (at_ < text_.size() && !Begins(end)) {
      if (text_[at_] == '\n' && !is_triple) return;  // has no end; its value will be refused
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) AppendOfString(text_[at_]);
      AppendOfString(text_[at_]);
    }
    for (size_t i = 0; i < end.size() && at_ < text_.size(); ++i) AppendOfString(quote);
  }

  void AppendOfString(char c) {
    if (current_.text.empty()) current_.line = line_;
    current_.text += c;
    if (c == '\n') ++line_;
    ++at_;
  }

  void SkipComment() {
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
  }

  void End() {
    current_.text = Trimmed(current_.text);
    if (!current_.text.empty()) statements_.push_back(std::move(current_));
    current_ = Statement();
  }

  const std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
  int depth_ = 0;
  bool begins_line_ = true;  // blanks before the statement indent it; false after ';'
  Statement current_;
  std::vector<Statement> statements_;
};

std::string FirstWord(const std::string& text) {
  const auto end = std::find_if(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_';
  });
  return {text.begin(), end};
}

// "name = expression", divided; the sign is "" for '=' and "*" for "*=".
struct Assignment {
  std::string name;
  std::string sign;
  std::string expression;
};

std::optional<Assignment> AssignmentOf(const std::string& text) {
  Assignment assignment{.name = FirstWord(text)};
  const bool is_name = !assignment.name.empty() &&
                       std::isdigit(static_cast<unsigned char>(assignment.name.front())) == 0;
  std::string rest = Trimmed(std::string_view(text).substr(assignment.name.size()));
  if (is_name && rest.starts_with(':')) {  // an annotation: "name: int = 3"
    const size_t equals = rest.find('=');
    if (equals == std::string::npos) return std::nullopt;
    rest.erase(0, equals);
  }
  const size_t equals = rest.find('=');
  if (!is_name || equals == std::string::npos || rest.substr(equals).starts_with("==")) {
    return std::nullopt;
  }
  assignment.sign = rest.substr(0, equals);
  assignment.expression = Trimmed(std::string_view(rest).substr(equals + 1));
  constexpr std::string_view kSigns[] = {"", "+", "-", "*", "/", "//", "%", "**"};
  const bool is_known =
      std::find(std::begin(kSigns), std::end(kSigns), assignment.sign) != std::end(kSigns);
  return is_known ? std::optional(assignment) : std::nullopt;
}

bool IsBareString(const std::string& text) {
  return (text.front() == '"' || text.front() == '\'') && EvaluatePython(text, {}).ok();
}

// Statements that set nothing: imports, pass, bare strings.
bool SetsNothing(const std::string& text) {
  const std::string word = FirstWord(text);
  return word == "import" || word == "from" || word == "pass" || IsBareString(text);
}

// Parts of a statement whose first part was reported.
bool ContinuesBlock(const std::string& text) {
  const std::string word = FirstWord(text);
  return word == "else" || word == "elif" || word == "except" || word == "finally";
}

class Reader {
 public:
  explicit Reader(const PythonNames& known) : names_(known) {}

  PythonSettings Read(const std::vector<Statement>& statements) {
    for (const Statement& statement : statements) {
      const bool is_program = statement.indent == 0 && statement.text.starts_with("exec(") &&
                              statement.text.find(kConfigurator) != std::string::npos;
      if (is_program) break;
      Take(statement);
    }
    return std::move(result_);
  }

 private:
  void Take(const Statement& statement) {
    if (statement.indent > 0 && in_block_) return;
    if (statement.indent == 0 && in_block_ && ContinuesBlock(statement.text)) return;
    in_block_ = statement.text.ends_with(':');
    if (statement.indent > 0) return Skip(statement, "is indented, outside of a block");
    if (in_block_) return Skip(statement, "is not an assignment; its whole block is ignored");
    if (SetsNothing(statement.text)) return;
    const auto assignment = AssignmentOf(statement.text);
    if (!assignment) return Skip(statement, "is not an assignment to one name");
    Assign(statement, *assignment);
  }

  void Assign(const Statement& statement, const Assignment& assignment) {
    std::string expression = assignment.expression;
    if (!assignment.sign.empty()) {
      expression = assignment.name + assignment.sign + "(" + expression + ")";
    }
    const auto value = EvaluatePython(expression, names_, &result_.read);
    if (!value.ok()) {
      // Its old value would be wrong.
      names_.erase(assignment.name);
      std::erase_if(result_.settings, [&](const auto& set) { return set.name == assignment.name; });
      return Skip(statement, Message(value.status()), assignment.name);
    }
    names_[assignment.name] = *value;
    for (PythonSetting& setting : result_.settings) {
      if (setting.name != assignment.name) continue;
      setting.value = *value;
      setting.line = statement.line;
      return;
    }
    result_.settings.push_back({assignment.name, *value, statement.line});
  }

  void Skip(const Statement& statement, const std::string& why, const std::string& name = "") {
    result_.skipped.push_back({statement.line, Excerpt(statement.text), why, name});
  }

  PythonNames names_;
  PythonSettings result_;
  bool in_block_ = false;  // inside a block that was left out
};

}  // namespace

std::string PythonText(const PythonValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "True" : "False";
  if (const auto* whole = std::get_if<int64_t>(&value)) return std::to_string(*whole);
  if (const auto* real = std::get_if<double>(&value)) return fmt::format("{}", *real);
  if (const auto* text = std::get_if<std::string>(&value)) return "'" + Excerpt(*text) + "'";
  return "None";
}

const PythonSetting* PythonSettings::Find(const std::string& name) const {
  for (const PythonSetting& setting : settings) {
    if (setting.name == name) return &setting;
  }
  return nullptr;
}

PythonSettings ReadPythonSettings(std::string_view text, const PythonNames& known) {
  return Reader(known).Read(Cutter(text).Cut());
}

}  // namespace gp::gpctl
