#include "tokenizer/data/shared_files.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <optional>
#include <set>
#include <utility>

namespace gp {
namespace {

using FileId = std::pair<dev_t, ino_t>;

std::optional<FileId> IdOf(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return std::nullopt;
  return FileId(info.st_dev, info.st_ino);
}

}  // namespace

std::string DescribeSharedFiles(const std::vector<std::string>& train,
                                const std::vector<std::string>& validation, const char* key) {
  std::set<FileId> trained;
  for (const std::string& path : train) {
    if (const auto id = IdOf(path)) trained.insert(*id);
  }
  std::string first;
  size_t count = 0;
  for (const std::string& path : validation) {
    const auto id = IdOf(path);
    if (!id || !trained.contains(*id)) continue;
    if (++count == 1) first = path;
  }
  if (count == 0) return "";
  return fmt::format(
      "data.val names {}{}, which {} names, too: the validation loss would be measured on training "
      "text",
      first, count == 1 ? "" : fmt::format(" and {} more", count - 1), key);
}

}  // namespace gp
