#include "client/gpctl/data/starting_data.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "base/file.h"
#include "base/name_pattern.h"
#include "base/text/counted_noun.h"
#include "base/text/shell_word.h"
#include "client/gpctl/demo/demo_text.h"
#include "corpus/source.h"
#include "corpus/source_content.h"
#include "formats/file_kind.h"
#include "formats/likeness/likeness.h"
#include "formats/likeness/wide_text.h"
#include "formats/path_pattern.h"
#include "formats/random_access_file.h"
#include "formats/text_stream.h"
#include "formats/token_shard.h"

namespace gp::gpctl {
namespace {

using Form = StartingData::Form;

constexpr std::string_view kTextEnds[] = {".txt", ".txt.gz", ".txt.zst"};
constexpr std::string_view kJsonEnds[] = {".jsonl",  ".jsonl.gz",  ".jsonl.zst",
                                          ".ndjson", ".ndjson.gz", ".ndjson.zst"};

// Trainers read plain files, so packed ones are unpacked into the state directory.
StatusOr<std::string> Unpacked(const std::string& path, const Session& session) {
  constexpr std::string_view kPacked = ".gz";
  if (!path.ends_with(kPacked)) return path;
  ASSIGN_OR_RETURN(const std::string text, ReadDemoText(path));
  const std::string name = BaseNameOf(path);
  const std::string directory = JoinPath(session.StateDirectory(), "text");
  std::string unpacked = JoinPath(directory, name.substr(0, name.size() - kPacked.size()));
  RETURN_IF_ERROR(MakeDirectories(directory, 0700));
  RETURN_IF_ERROR(WriteFileAtomically(unpacked, text, 0600));
  return unpacked;
}

// For each of `ends` with which files in `folder` end, appends a pattern that matches these files.
template <typename Ends>
Status AddPatterns(const std::string& folder, const Ends& ends,
                   std::vector<std::string>& patterns) {
  for (const std::string_view end : ends) {
    const NamePattern pattern{.folder = JoinPath(folder, ""), .pattern = fmt::format("*{}", end)};
    ASSIGN_OR_RETURN(const std::vector<std::string> found, MatchingPaths(pattern));
    if (!found.empty()) patterns.push_back(pattern.folder + pattern.pattern);
  }
  return OkStatus();
}

struct FolderContent {
  int64_t folders = 0;
  std::map<std::string, int64_t> files;  // number of files by extension, such as ".md"
};

StatusOr<FolderContent> ContentOf(const std::string& folder) {
  FolderContent content;
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(folder));
  for (const std::string& name : names) {
    std::error_code error;
    if (name.starts_with(".")) continue;
    if (std::filesystem::is_directory(JoinPath(folder, name), error)) {
      ++content.folders;
    } else {
      ++content.files[std::filesystem::path(name).extension().string()];
    }
  }
  return content;
}

// A sentence about the files and folders in `folder` that do not match `patterns`; empty if all do.
StatusOr<std::string> LeftOut(const std::string& folder, const std::vector<std::string>& patterns) {
  ASSIGN_OR_RETURN(const FolderContent content, ContentOf(folder));
  int64_t others = 0;
  for (const auto& [end, count] : content.files) others += count;
  for (const std::string& pattern : patterns) {
    ASSIGN_OR_RETURN(const std::vector<std::string> taken, MatchingPaths(ReadNamePattern(pattern)));
    others -= std::ssize(taken);
  }
  std::string text;
  if (content.folders > 0) text = CountedNoun(content.folders, "folder");
  if (others > 0) text += (text.empty() ? "" : " and ") + CountedNoun(others, "other file");
  if (text.empty()) return text;
  text = fmt::format("{} in {} {} left out", text, folder,
                     content.folders + others == 1 ? "is" : "are");
  if (content.folders == 0) return text;
  return text + fmt::format("; --text {} also reads the files in its folders",
                            ShellWord(JoinPath(folder, "**/*.txt")));
}

// A pattern to suggest for a folder without texts: it matches files with the most frequent
// extension.
StatusOr<std::string> PatternIn(const std::string& folder) {
  ASSIGN_OR_RETURN(const FolderContent content, ContentOf(folder));
  const auto most =
      std::max_element(content.files.begin(), content.files.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  const bool named = most != content.files.end() && !most->first.empty();
  if (!named && content.folders > 0) return JoinPath(folder, "**/*.txt");
  return JoinPath(folder, named ? "*" + most->first : "*.txt");
}

StatusOr<StartingData> DataInFolder(const std::string& folder) {
  StartingData data;
  RETURN_IF_ERROR(AddPatterns(folder, kTextEnds, data.files));
  const size_t texts = data.files.size();
  RETURN_IF_ERROR(AddPatterns(folder, kJsonEnds, data.files));
  if (data.files.size() > texts) data.form = Form::kJsonLines;
  if (!data.files.empty()) {
    ASSIGN_OR_RETURN(data.left_out, LeftOut(folder, data.files));
    return data;
  }
  ASSIGN_OR_RETURN(const std::string pattern, PatternIn(folder));
  return InvalidArgument(
      "--text: {} is a folder without .txt or .jsonl files in it; name its files, for example "
      "--text {}",
      folder, ShellWord(pattern));
}

// Whether a file may hold tokens, judged by its beginning. A text in an unknown encoding can look
// like tokens without a header, but has no zero bytes, which tokens have.
bool MayBeTokens(const std::string& path, std::string_view begin) {
  if (const formats::FileKind* const kind = formats::RecogniseKind(begin))
    return kind->holds_tokens;
  return path.ends_with(".bin") || begin.find('\0') != std::string_view::npos;
}

StatusOr<std::string> ReadBegin(const std::string& path) {
  ASSIGN_OR_RETURN(const auto file, formats::RandomAccessFile::Open(path));
  std::string begin(std::min<uint64_t>(formats::kLikenessBytes, file.size_bytes()), '\0');
  RETURN_IF_ERROR(file.Read(0, begin));
  return begin;
}

Status CheckJsonLines(const std::string& path) {
  ASSIGN_OR_RETURN(const auto text, formats::TextStream::Open(path));
  const auto likeness = formats::UnlikeText(text.head());
  if (!likeness || likeness->is_json_lines) return OkStatus();
  return InvalidArgument("{} looks like {}, expected lines of JSON; {}", path, likeness->what,
                         formats::WayFor(likeness->way, path));
}

// The form of the file's contents. Trusts a .jsonl name unless the contents look like something
// else; its lines are checked when they are read.
StatusOr<Form> FormOf(const corpus::Source& source) {
  if (source.form == corpus::TextForm::kJsonLines) {
    RETURN_IF_ERROR(CheckJsonLines(source.path));
    return Form::kJsonLines;
  }
  const Status as_text = corpus::CheckContents({source});
  if (as_text.ok()) return Form::kText;
  if (CheckJsonLines(source.path).ok()) return Form::kJsonLines;
  ASSIGN_OR_RETURN(const std::string begin, ReadBegin(source.path));
  if (!MayBeTokens(source.path, begin)) return as_text;
  const Status as_tokens = formats::TokenShard::Open(source.path).status();
  if (as_tokens.ok()) return Form::kTokens;
  return formats::WideEncoding(begin) ? as_text : as_tokens;
}

std::string_view WordFor(Form form) {
  if (form == Form::kTokens) return "tokens";
  return form == Form::kJsonLines ? "lines of JSON" : "text";
}

// The tokenizer beside a token shard, which probably made it: the path of its tokenizer.json,
// "chars" if there is a meta.pkl, or empty.
std::string TokenizerBeside(const std::string& shard) {
  const std::string folder = DirectoryOf(shard);
  const std::string file = JoinPath(folder, "tokenizer.json");
  if (FileExists(file)) return file;
  return FileExists(JoinPath(folder, "meta.pkl")) ? "chars" : "";
}

// Sets the form of `data` from the file `path`, or from the files that match it as a pattern. Text
// and lines of JSON may be mixed if the names distinguish them.
Status SetForm(const std::string& path, StartingData& data) {
  ASSIGN_OR_RETURN(const auto sources, corpus::ExpandSources({path}));
  std::set<Form> forms;
  bool named_json = false;
  for (const corpus::Source& source : sources) {
    ASSIGN_OR_RETURN(const Form form, FormOf(source));
    forms.insert(form);
    named_json = named_json || source.form == corpus::TextForm::kJsonLines;
  }
  data.form = *forms.rbegin();
  if (forms.size() > 1 && (data.form == Form::kTokens || !named_json)) {
    return InvalidArgument("--text: {} names text and {}; use files of one kind", path,
                           WordFor(data.form));
  }
  if (data.form == Form::kTokens) data.tokenizer = TokenizerBeside(sources.front().path);
  data.by_content = data.form == Form::kJsonLines && !named_json;
  return OkStatus();
}

StatusOr<StartingData> DataNamed(const std::string& text, const Session& session) {
  const std::string path = AbsolutePath(text, session.console().working_directory);
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return DataInFolder(path);
  const bool pattern = !ReadNamePattern(path).pattern.empty();
  if (!pattern && !FileExists(path)) return NotFound("--text: {} does not exist", path);
  RETURN_IF_ERROR(formats::ExpandPatterns({path}, "--text").status());
  StartingData data{.files = {path}};
  RETURN_IF_ERROR(SetForm(path, data));
  if (pattern || data.form != Form::kText) return data;
  ASSIGN_OR_RETURN(data.files[0], Unpacked(path, session));
  return data;
}

StatusOr<StartingData> DemoData(const Session& session) {
  const auto found = FindDemoText(DemoTextPlaces(session.console().program_directory));
  if (!found.ok()) return StartingData();
  ASSIGN_OR_RETURN(std::string plain, Unpacked(*found, session));
  return StartingData{.files = {std::move(plain)}};
}

// Adds the files of the next --text to `data`. All files must suit one key of the run file.
Status Join(const StartingData& more, const std::string& text, StartingData& data) {
  const bool tokens = more.form == Form::kTokens || data.form == Form::kTokens;
  const bool by_content = more.by_content || data.by_content;
  if (more.form != data.form && (tokens || by_content)) {
    return InvalidArgument(
        "--text: {} holds {}, but the earlier --text holds {}; use files of one kind", text,
        WordFor(more.form), WordFor(data.form));
  }
  if (more.tokenizer != data.tokenizer) {
    return InvalidArgument(
        "--text: {} was made with another tokenizer than the earlier --text; use tokens of one "
        "tokenizer",
        text);
  }
  data.files.insert(data.files.end(), more.files.begin(), more.files.end());
  data.form = std::max(data.form, more.form);
  data.by_content = by_content;
  const bool both = !data.left_out.empty() && !more.left_out.empty();
  data.left_out += (both ? "\nnote: " : "") + more.left_out;
  return OkStatus();
}

}  // namespace

StatusOr<StartingData> FindStartingData(const std::vector<std::string>& texts,
                                        const Session& session) {
  if (texts.empty()) return DemoData(session);
  StartingData data;
  for (size_t i = 0; i < texts.size(); ++i) {
    ASSIGN_OR_RETURN(StartingData named, DataNamed(texts[i], session));
    if (i == 0) {
      data = std::move(named);
    } else {
      RETURN_IF_ERROR(Join(named, texts[i], data));
    }
  }
  RETURN_IF_ERROR(WithContext(corpus::ExpandSources(data.files).status(), "--text"));
  return data;
}

}  // namespace gp::gpctl
