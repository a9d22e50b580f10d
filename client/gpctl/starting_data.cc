#include "client/gpctl/starting_data.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/file.h"
#include "base/name_pattern.h"
#include "base/shell_word.h"
#include "client/gpctl/demo/demo_text.h"
#include "corpus/source.h"
#include "formats/likeness.h"
#include "formats/path_pattern.h"
#include "formats/text_stream.h"

namespace gp::gpctl {
namespace {

constexpr std::string_view kTextEnds[] = {".txt", ".txt.gz", ".txt.zst"};
constexpr std::string_view kJsonEnds[] = {".jsonl",  ".jsonl.gz",  ".jsonl.zst",
                                          ".ndjson", ".ndjson.gz", ".ndjson.zst"};

// Trainers read plain files: what is packed is unpacked into the state directory.
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

// Appends the patterns of the files in `folder` that end so.
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

StatusOr<StartingData> DataInFolder(const std::string& folder) {
  StartingData data;
  RETURN_IF_ERROR(AddPatterns(folder, kTextEnds, data.files));
  const size_t texts = data.files.size();
  RETURN_IF_ERROR(AddPatterns(folder, kJsonEnds, data.files));
  data.json_lines = data.files.size() > texts;
  if (!data.files.empty()) return data;
  return InvalidArgument(
      "--text: {} is a folder without .txt or .jsonl files in it; name its files, for example "
      "--text {}",
      folder, ShellWord(JoinPath(folder, "*.md")));
}

// Damage is told when the run file is checked.
bool LooksLikeJsonLines(const std::string& path) {
  const auto stream = formats::TextStream::Open(path);
  if (!stream.ok()) return false;
  const auto likeness = formats::UnlikeText(stream->head());
  return likeness && likeness->is_json_lines;
}

// A file, or those of a pattern. Of a mixture the names have to say which are lines of JSON.
Status SetForm(const std::string& path, StartingData& data) {
  ASSIGN_OR_RETURN(const auto sources, corpus::ExpandSources({path}));
  const auto named_json = [](const corpus::Source& source) {
    return source.form == corpus::TextForm::kJsonLines;
  };
  data.json_lines = std::any_of(sources.begin(), sources.end(), named_json);
  if (data.json_lines) return OkStatus();
  data.by_content = std::all_of(sources.begin(), sources.end(), [](const corpus::Source& source) {
    return LooksLikeJsonLines(source.path);
  });
  data.json_lines = data.by_content;
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
  if (pattern || data.json_lines) return data;
  ASSIGN_OR_RETURN(data.files[0], Unpacked(path, session));
  return data;
}

}  // namespace

StatusOr<StartingData> FindStartingData(const std::string& text, const Session& session) {
  if (!text.empty()) return DataNamed(text, session);
  const auto found = FindDemoText(DemoTextPlaces(session.console().program_directory));
  if (!found.ok()) return StartingData();
  ASSIGN_OR_RETURN(std::string plain, Unpacked(*found, session));
  return StartingData{.files = {std::move(plain)}};
}

}  // namespace gp::gpctl
