#include "corpus/source.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <string_view>
#include <utility>

#include "base/name_pattern.h"

namespace gp::corpus {
namespace {

constexpr std::string_view kPackings[] = {".gz", ".zst"};
constexpr std::string_view kJsonNames[] = {".jsonl", ".ndjson", ".json"};
constexpr std::string_view kTextName = ".txt";

std::string_view WithoutPacking(std::string_view name) {
  for (const std::string_view packing : kPackings) {
    if (name.ends_with(packing)) return name.substr(0, name.size() - packing.size());
  }
  return name;
}

std::optional<TextForm> FormOfName(std::string_view path) {
  const std::string_view name = WithoutPacking(path);
  if (name.ends_with(kTextName)) return TextForm::kText;
  for (const std::string_view json : kJsonNames) {
    if (name.ends_with(json)) return TextForm::kJsonLines;
  }
  return std::nullopt;
}

struct Folder {
  std::vector<std::string> texts;  // files whose names mark them as text
  std::vector<std::string> others;
};

// The regular files below `directory`, sorted.
StatusOr<Folder> FilesBelow(const std::string& directory) {
  namespace fs = std::filesystem;
  Folder folder;
  std::error_code error;
  fs::recursive_directory_iterator at(directory, error), end;
  for (; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with('.')) {
      at.disable_recursion_pending();
      continue;
    }
    const bool is_text = FormOfName(name).has_value();
    std::error_code link_error;  // for a dangling link
    if (at->is_regular_file(link_error)) {
      (is_text ? folder.texts : folder.others).push_back(at->path().string());
    }
    if (is_text && link_error) {
      return ErrnoStatus(link_error.value(), "read", at->path().string());
    }
  }
  if (error) return ErrnoStatus(error.value(), "read directory", directory);
  std::sort(folder.texts.begin(), folder.texts.end());
  std::sort(folder.others.begin(), folder.others.end());
  return folder;
}

StatusOr<std::vector<std::string>> TextsBelow(const std::string& directory) {
  ASSIGN_OR_RETURN(Folder folder, FilesBelow(directory));
  if (!folder.texts.empty()) return std::move(folder.texts);
  return NotFound(
      "{} holds no file named .txt, .jsonl, .ndjson or .json (or compressed, .gz or .zst); name "
      "the files themselves",
      directory);
}

StatusOr<std::vector<std::string>> PathsOf(const std::string& argument) {
  if (argument == kStandardInput) return std::vector<std::string>{argument};
  std::error_code error;
  if (std::filesystem::is_directory(argument, error)) return TextsBelow(argument);
  const NamePattern name = ReadNamePattern(argument);
  if (name.pattern.empty()) return std::vector<std::string>{argument};
  ASSIGN_OR_RETURN(std::vector<std::string> paths, MatchingPaths(name));
  if (paths.empty()) return NotFound("no file matches '{}'", argument);
  return paths;
}

StatusOr<Source> Look(const std::string& path, std::optional<TextForm> form) {
  Source source{.path = path,
                .form = form.value_or(FormOfName(path).value_or(TextForm::kText)),
                .form_given = form.has_value()};
  if (path == kStandardInput) return source;
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return NotFound("{} does not exist", path);
    return ErrnoStatus(errno, "read", path);
  }
  if (S_ISDIR(info.st_mode)) {
    return InvalidArgument("{} is a directory; name it without a pattern, or name its files", path);
  }
  // A pipe has no size and cannot be read again.
  if (!S_ISREG(info.st_mode)) {
    return InvalidArgument(
        "{} is not a regular file, but gp must read it more than once; name a regular file", path);
  }
  source.size_bytes = static_cast<uint64_t>(info.st_size);
  source.modified_ns = int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
  return source;
}

}  // namespace

std::string SourceName(const Source& source) {
  return source.path == kStandardInput ? "standard input" : source.path;
}

Status CheckUnchanged(const Source& source) {
  if (source.path == kStandardInput) return OkStatus();
  ASSIGN_OR_RETURN(const Source now, Look(source.path, source.form));
  if (now.size_bytes == source.size_bytes && now.modified_ns == source.modified_ns) {
    return OkStatus();
  }
  return DataLoss(
      "{} was changed while it was read ({} bytes before, {} now); restore the original, or start "
      "again",
      source.path, source.size_bytes, now.size_bytes);
}

StatusOr<std::vector<Source>> ExpandSources(const std::vector<std::string>& arguments,
                                            std::optional<TextForm> form) {
  std::vector<Source> sources;
  std::set<std::string> seen;
  for (const std::string& argument : arguments) {
    ASSIGN_OR_RETURN(const std::vector<std::string> paths, PathsOf(argument));
    for (const std::string& path : paths) {
      ASSIGN_OR_RETURN(Source source, Look(path, form));
      std::error_code error;
      if (!seen.insert(std::filesystem::weakly_canonical(path, error).string()).second) {
        return InvalidArgument("{} is given twice; its documents would occur twice",
                               SourceName(source));
      }
      sources.push_back(std::move(source));
    }
  }
  if (sources.empty()) return InvalidArgument("no source file is given; name at least one");
  return sources;
}

StatusOr<std::vector<std::string>> DescribeLeftOut(const std::vector<std::string>& arguments) {
  std::vector<std::string> sentences;
  for (const std::string& argument : arguments) {
    std::error_code error;
    if (argument == kStandardInput || !std::filesystem::is_directory(argument, error)) continue;
    ASSIGN_OR_RETURN(const Folder folder, FilesBelow(argument));
    if (folder.others.empty()) continue;
    sentences.push_back(
        fmt::format("{}: skipped {} of {} files, for example {}; only .txt, .jsonl, .ndjson and "
                    ".json (optionally with .gz or .zst) are read",
                    argument, folder.others.size(), folder.others.size() + folder.texts.size(),
                    folder.others.front()));
  }
  return sentences;
}

}  // namespace gp::corpus
