#include "formats/likeness/likeness.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <set>

#include "base/text/shell_word.h"
#include "base/text/utf8.h"
#include "formats/likeness/wide_text.h"

namespace gp::formats {
namespace {

using namespace std::string_view_literals;

// Above this share of bytes that belong to no character, it is not text in UTF-8. Below it, ASCII
// with kForeignMin such bytes still counts as Latin-1, see IsOfOneByteCharacters.
constexpr double kForeignShareMax = 0.1;
// A single damaged byte is a large share of a short text.
constexpr size_t kForeignMin = 8;

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

std::string_view WithoutSpace(std::string_view text) {
  const auto begin = std::find_if_not(text.begin(), text.end(), IsSpace);
  return text.substr(static_cast<size_t>(begin - text.begin()));
}

bool IsPrintable(char c) { return (c >= 0x20 && c < 0x7f) || IsSpace(c); }

double Share(size_t part, size_t all) {
  return static_cast<double>(part) / static_cast<double>(std::max<size_t>(all, 1));
}

bool IsCharacter(char c) { return IsPrintable(c) || static_cast<unsigned char>(c) >= 0x80; }

struct Characters {
  size_t all = 0;      // bytes
  size_t foreign = 0;  // bytes that belong to no character
  size_t wide = 0;     // characters of several bytes
  double ForeignShare() const { return Share(foreign, all); }
};

// Ignores a last character that is cut off by the end of `text`.
Characters CountCharacters(std::string_view text) {
  constexpr size_t kCutMax = 3;
  Characters count{.all = text.size()};
  while (!text.empty()) {
    if (const auto point = TakeCodePoint(text)) {
      count.wide += *point > 0x7f ? 1 : 0;
      continue;
    }
    if (count.all >= kLikenessBytes && text.size() <= kCutMax) break;
    ++count.foreign;
    text.remove_prefix(1);
  }
  return count;
}

// Whether this is text in a one-byte encoding such as Latin-1: it has invalid bytes and no valid
// multi-byte character. Damaged UTF-8 text also has valid ones, unless all of it is ASCII.
bool IsOfOneByteCharacters(const Characters& count) {
  return count.wide == 0 && count.foreign >= kForeignMin;
}

// Whether the text begins with `open`, optional space and one of the characters of `next`.
bool Opens(std::string_view text, char open, std::string_view next) {
  if (!text.starts_with(open)) return false;
  const std::string_view rest = WithoutSpace(text.substr(1));
  return !rest.empty() && next.find(rest[0]) != std::string_view::npos;
}

// Lists of numbers in JSON at the front of a text.
struct NumberLists {
  int numbers = 0;
  int lists = 0;          // top-level lists
  int depth = 0;          // nesting of the list that contains `rest`
  std::string_view rest;  // what follows the numbers, commas and brackets
};

bool IsOfNumber(char c) { return "+-.0123456789Ee"sv.find(c) != std::string_view::npos; }

// Reads as far as there are numbers with commas or brackets between them.
NumberLists ReadNumberLists(std::string_view text) {
  constexpr int kNumbersMax = 1000;
  NumberLists read{.rest = text};
  bool parted = true;  // separated from the number before
  while (!read.rest.empty() && read.numbers < kNumbersMax) {
    const char c = read.rest[0];
    const bool number = IsOfNumber(c), open = c == '[', close = c == ']';
    if (read.depth == 0 ? !open && !IsSpace(c)
                        : !number && !open && !close && c != ',' && !IsSpace(c)) {
      break;
    }
    if (number && !parted) break;
    if (open && read.depth == 0) ++read.lists;
    read.depth += (open ? 1 : 0) - (close ? 1 : 0);
    read.numbers += number ? 1 : 0;
    parted = !number && (parted || !IsSpace(c));
    const auto end = std::find_if_not(read.rest.begin(), read.rest.end(), IsOfNumber);
    read.rest.remove_prefix(number ? static_cast<size_t>(end - read.rest.begin()) : 1);
  }
  return read;
}

// Whether `text` begins with a JSON string, an object, or the literal true, false or null.
bool IsOtherValue(std::string_view text) {
  if (text.starts_with('"') || text.starts_with('{')) return true;
  for (const std::string_view word : {"true"sv, "false"sv, "null"sv}) {
    if (!text.starts_with(word)) continue;
    text = WithoutSpace(text.substr(word.size()));
    return text.empty() || text[0] == ',' || text[0] == ']';
  }
  return false;
}

// Requires several numbers: prose may contain one or two numbers in brackets, or more with words
// after them.
std::optional<Likeness> LikeList(std::string_view text) {
  constexpr int kNumbersMin = 3, kSureNumbers = 16;
  const NumberLists read = ReadNumberLists(text);
  if (read.depth > 0 && IsOtherValue(read.rest)) {
    const bool texts = read.rest.starts_with('"') && read.numbers == 0 && read.depth == 1;
    return Likeness{"a list in JSON", texts
                                          ? "write a line for each text: jq -c '.[] | {text: .}' {}"
                                          : "write a line for each of its values: jq -c '.[]' {}"};
  }
  if (read.numbers < (read.rest.empty() ? kNumbersMin : kSureNumbers)) return std::nullopt;
  constexpr std::string_view kWhole = "json.load(open(sys.argv[1]))";
  constexpr std::string_view kLines = "[json.loads(line) for line in open(sys.argv[1])]";
  return Likeness{
      "a list of numbers in JSON",
      fmt::format("tokens belong in data.train, as an array of NumPy: python3 -c \"import sys, "
                  "json, numpy as np; np.save(sys.argv[2], np.hstack({}).astype('<u4'))\" {{}} "
                  "tokens.npy",
                  read.lists > 1 ? kLines : kWhole)};
}

constexpr char kRecordSeparator = '\x1e';  // before each value of a JSON text sequence (RFC 7464)

std::string_view TrimmedLine(std::string_view line) {
  while (!line.empty() && (IsSpace(line[0]) || line[0] == kRecordSeparator)) line.remove_prefix(1);
  while (!line.empty() && IsSpace(line.back())) line.remove_suffix(1);
  return line;
}

bool IsObject(std::string_view line, std::string_view quote) {
  return line.ends_with('}') && Opens(line, '{', quote);
}

// The numbers of lines that are not empty, and of those that a predicate accepts. CountLines
// ignores a last line that is cut off by the end of `begin`.
struct LineCount {
  size_t taken = 0, all = 0;
  double share() const { return Share(taken, all); }
};

template <typename Predicate>
LineCount CountLines(std::string_view begin, Predicate is) {
  LineCount count;
  const bool cut = begin.size() >= kLikenessBytes;
  while (!begin.empty()) {
    const size_t end = begin.find('\n');
    if (end == std::string_view::npos && cut && count.all > 0) break;
    const std::string_view line = TrimmedLine(begin.substr(0, end));
    count.all += line.empty() ? 0 : 1;
    count.taken += !line.empty() && is(line) ? 1 : 0;
    begin.remove_prefix(end == std::string_view::npos ? begin.size() : end + 1);
  }
  return count;
}

constexpr double kMostLines = 0.8;

// Whether at least two lines are objects whose names are in the quotes `quote`, and few lines, such
// as comments, are not.
bool AreObjects(std::string_view begin, std::string_view quote) {
  const LineCount count =
      CountLines(begin, [&](std::string_view line) { return IsObject(line, quote); });
  return count.taken >= 2 && count.share() >= kMostLines;
}

// Whether the line is a JSON string: "…", in which other quotes are escaped.
bool IsJsonString(std::string_view line) {
  if (line.size() < 2 || line.front() != '"' || line.back() != '"') return false;
  line = line.substr(1, line.size() - 2);
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') return false;
    if (line[i] != '\\') continue;
    if (++i == line.size() || "\"\\/bfnrtu"sv.find(line[i]) == std::string_view::npos) return false;
  }
  return true;
}

// Lines of dialogue are in quotes too, but fewer of them, and none with an escape.
bool AreJsonStrings(std::string_view begin) {
  constexpr size_t kManyLines = 16;
  constexpr double kNearlyAll = 0.95;
  const LineCount count = CountLines(begin, IsJsonString);
  if (count.taken < 2 || count.share() < kMostLines) return false;
  const LineCount escaped = CountLines(begin, [](std::string_view line) {
    return IsJsonString(line) && line.find('\\') != std::string_view::npos;
  });
  return escaped.taken > 0 || (count.taken >= kManyLines && count.share() >= kNearlyAll);
}

// Whether the line is an id, a tab and a JSON object: 17<TAB>{"text": …}.
bool IsNumberedObject(std::string_view line) {
  constexpr size_t kIdMax = 64;
  const size_t tab = line.find('\t');
  if (tab == 0 || tab > kIdMax || line.substr(0, tab).find_first_of(" {") != line.npos) {
    return false;
  }
  return IsObject(WithoutSpace(line.substr(tab)), "\"");
}

// Whether the line is a server-sent event with an object: "data: {…}".
bool IsEventObject(std::string_view line) {
  return line.starts_with("data:") && IsObject(WithoutSpace(line.substr(5)), "\"");
}

bool AreNumberedObjects(std::string_view begin) {
  const LineCount count = CountLines(begin, IsNumberedObject);
  return count.taken >= 2 && count.share() >= kMostLines;
}

bool AreEventObjects(std::string_view begin) {
  const LineCount count = CountLines(begin, IsEventObject);
  return count.taken >= 2 && count.share() >= kMostLines;
}

// A form in which each line has JSON that is not an object, or has something before the object.
struct WrappedLines {
  bool (*are)(std::string_view begin);
  std::string_view what, way;
};

constexpr WrappedLines kWrappedLines[] = {
    {AreJsonStrings, "lines of JSON strings",
     "write an object for each: jq -c '{text: .}' {} > FILE.jsonl"},
    {AreNumberedObjects, "lines of an id, a tab and a JSON object",
     "write the objects alone: cut -f2- {} > FILE.jsonl"},
    {AreEventObjects, "server-sent events that contain JSON",
     "write the objects alone: sed -n 's/^data: *//p' {} > FILE.jsonl"}};

std::optional<Likeness> LikeWrappedLines(std::string_view begin) {
  for (const WrappedLines& lines : kWrappedLines) {
    if (lines.are(begin)) return Likeness{std::string(lines.what), std::string(lines.way)};
  }
  return std::nullopt;
}

// Recognises a list, lines of objects or strings, and a document of JSON.
std::optional<Likeness> LikeJson(std::string_view begin) {
  std::string_view text = WithoutSpace(begin);
  // Some servers put this before JSON, so that pages of other sites cannot load it as a script.
  if (text.starts_with(")]}'")) text = WithoutSpace(text.substr(text.starts_with(")]}',") ? 5 : 4));
  if (auto list = LikeList(text)) return list;
  if (auto wrapped = LikeWrappedLines(begin)) return wrapped;
  if (AreObjects(begin, "'")) {
    return Likeness{"lines of Python's dicts", "write lines of JSON with json.dumps"};
  }
  const Likeness lines = {"lines of JSON",
                          "name it in data.stream, which reads a field of each line", true};
  if (AreObjects(begin, "\"")) return lines;
  if (!Opens(text, '{', "\"")) return std::nullopt;
  const std::string_view line = text.substr(0, text.find('\n'));
  const bool cut = line.size() == text.size() && begin.size() >= kLikenessBytes;
  if (TrimmedLine(line).ends_with('}') || cut) return lines;
  return Likeness{"a JSON document", "extract its text: jq -r .FIELD {}"};
}

bool IsPythonList(std::string_view text) {
  constexpr int kStringsMin = 3;
  if (!Opens(text, '[', "'")) return false;
  int strings = 0;
  for (size_t at = 0; strings < kStringsMin; ++strings) {
    at = text.find("', '", at + 1);
    if (at == std::string_view::npos) return false;
  }
  return true;
}

// Whether this is Japanese in a 7-bit encoding, which is common in mail: escape sequences switch
// between the character sets.
bool IsSevenBitJapanese(std::string_view begin) {
  return begin.find("\x1b$B") != std::string_view::npos &&
         begin.find("\x1b(B") != std::string_view::npos;
}

// Recognises files of printable characters that must be converted before they are plain text.
std::optional<Likeness> LikeMarkup(std::string_view begin) {
  const std::string_view text = WithoutSpace(begin);
  if (IsSevenBitJapanese(begin)) {
    return Likeness{"text in ISO-2022-JP", "convert it: iconv -f ISO-2022-JP -t UTF-8 {}"};
  }
  if (text.starts_with("{\\rtf1")) {
    return Likeness{"a document in RTF", "save it as plain text: unrtf --text {}"};
  }
  if (text.starts_with("WARC/1.")) {
    return Likeness{"an archive of web pages (WARC)", "extract the text of its pages"};
  }
  if (IsPythonList(text)) {
    return Likeness{"a list of Python's strings", "write lines of JSON with json.dumps"};
  }
  return std::nullopt;
}

// A small file that is one page of HTML, or an error of an object store: what curl saves when the
// address is wrong. Larger ones may be intentionally collected text.
std::optional<Likeness> LikeErrorPage(std::string_view begin) {
  if (begin.size() >= kLikenessBytes) return std::nullopt;
  std::string text(WithoutSpace(begin).substr(0, 512));
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const bool html = text.starts_with("<!doctype html") || text.starts_with("<html");
  const bool error = text.starts_with("<?xml") && text.find("<error>") != std::string::npos;
  if (!html && !error) return std::nullopt;
  return Likeness{html ? "an HTML page, as servers send it for a wrong address"
                       : "an error message of a server",
                  "read it (head {}), then download the text again"};
}

}  // namespace

std::string WayFor(std::string_view way, const std::string& path) {
  std::string filled(way);
  const size_t at = filled.find("{}");
  return at == std::string::npos ? filled : filled.replace(at, 2, ShellWord(path));
}

std::optional<Likeness> UnlikeText(std::string_view begin) {
  if (const auto encoding = WideEncoding(begin)) {
    return Likeness{fmt::format("text in {}", *encoding),
                    fmt::format("convert it: iconv -f {} -t UTF-8 {{}}", *encoding)};
  }
  if (begin.find('\0') != std::string_view::npos) {
    return Likeness{"binary data (it contains zero bytes)", "tokens belong in data.train"};
  }
  const Characters count = CountCharacters(begin);
  if (count.ForeignShare() > kForeignShareMax && count.foreign >= kForeignMin) {
    return Likeness{fmt::format("bytes that are not UTF-8 ({:.0f}% of the first bytes are invalid)",
                                100 * count.ForeignShare()),
                    "convert text with iconv -f ENCODING -t UTF-8; tokens belong in data.train"};
  }
  if (IsOfOneByteCharacters(count)) {
    return Likeness{fmt::format("text that is not UTF-8, probably Windows-1252 or Latin-1 ({} of "
                                "the first {} bytes are invalid)",
                                count.foreign, count.all),
                    "convert it: iconv -f WINDOWS-1252 -t UTF-8 {}"};
  }
  if (auto markup = LikeMarkup(begin)) return markup;
  if (auto page = LikeErrorPage(begin)) return page;
  return LikeJson(begin);
}

std::optional<Likeness> UnlikeTextInside(std::string_view piece) {
  constexpr std::string_view kBinary = "binary data (it contains bytes of value 0)";
  constexpr std::string_view kWay = "look at that place: files were joined, or this one is damaged";
  // Single zero bytes mean damage; a run of them, or many, mean other data.
  constexpr size_t kZeroRun = 16;
  constexpr double kZeroShareMax = 0.001, kOneByteShareMin = 0.0005;
  const auto zeros = static_cast<size_t>(std::count(piece.begin(), piece.end(), '\0'));
  if (Share(zeros, piece.size()) > kZeroShareMax ||
      piece.find(std::string(kZeroRun, '\0')) != std::string_view::npos) {
    return Likeness{std::string(kBinary), std::string(kWay)};
  }
  // Removes the rest of a character that is cut by the beginning of the piece.
  constexpr size_t kCutMax = 3;
  for (size_t i = 0; i < kCutMax && !piece.empty() && (piece[0] & 0xc0) == 0x80; ++i) {
    piece.remove_prefix(1);
  }
  const Characters count = CountCharacters(piece);
  if (count.ForeignShare() > kForeignShareMax && count.foreign >= kForeignMin) {
    return Likeness{"bytes that are not UTF-8", std::string(kWay)};
  }
  if (IsOfOneByteCharacters(count) && count.ForeignShare() >= kOneByteShareMin) {
    return Likeness{"text that is not UTF-8, probably Windows-1252 or Latin-1",
                    "convert that part of it: iconv -f WINDOWS-1252 -t UTF-8"};
  }
  const size_t line = piece.find('\n') + 1;  // 0: there is none
  const std::string_view lines = piece.substr(line, piece.rfind('\n') + 1 - line);
  if (!AreObjects(lines, "\"")) return std::nullopt;
  return Likeness{"lines of JSON", std::string(kWay), true};
}

bool LooksLikeText(std::string_view begin) {
  constexpr double kMost = 0.95;
  // Ids whose bytes are all letters or signs are rare; this many never occur in a row.
  constexpr size_t kLettersMin = 32;
  // The words of a text may end in zero bytes. Token ids have more zero bytes, or hardly any
  // letters.
  constexpr double kZerosMax = 0.25;
  const auto zeros = static_cast<size_t>(std::count(begin.begin(), begin.end(), '\0'));
  const auto letters = static_cast<size_t>(std::count_if(begin.begin(), begin.end(), IsCharacter));
  const bool words = zeros > 0 && Share(zeros, begin.size()) <= kZerosMax;
  if (Share(letters + (words ? zeros : 0), begin.size()) < kMost) return false;
  if (CountCharacters(begin).ForeignShare() > kForeignShareMax) return false;
  return std::any_of(begin.begin(), begin.end(), IsSpace) ||
         (begin.size() >= kLettersMin && std::set<char>(begin.begin(), begin.end()).size() > 2);
}

}  // namespace gp::formats
