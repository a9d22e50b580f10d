#include "client/gpctl/data/text_sources.h"

#include <optional>

#include "base/file.h"
#include "corpus/source_content.h"

namespace gp::gpctl {

void AddTextSourceFlags(Command command, TextSources& sources) {
  command
      .Option(
          "SRC", sources.arguments,
          "files, directories, patterns, or - for standard input; text or lines of JSON, plain, "
          ".gz or .zst")
      .Path()
      .Required();
  command.Option("--as", sources.form, "format of the text, regardless of the file names")
      .OneOf({"txt", "jsonl"});
  command
      .Option("--text-field", sources.documents.field,
              "field of a line of JSON that holds the text; in an object: meta.text")
      .ShowDefault();
  command.Option("--split-on", sources.documents.split_on,
                 "a string between documents, not part of any, such as '<|endoftext|>'");
  command.Switch("--skip-null", sources.documents.skip_null,
                 "leave out lines of JSON whose field is null, and count them");
}

StatusOr<std::vector<corpus::Source>> ExpandTextSources(const TextSources& sources,
                                                        const std::string& working_directory,
                                                        std::vector<std::string>& notes) {
  std::vector<std::string> paths;
  for (const std::string& argument : sources.arguments) {
    const bool input = argument == corpus::kStandardInput;
    paths.push_back(input ? argument : AbsolutePath(argument, working_directory));
  }
  std::optional<corpus::TextForm> form;
  if (sources.form == "txt") form = corpus::TextForm::kText;
  if (sources.form == "jsonl") form = corpus::TextForm::kJsonLines;
  ASSIGN_OR_RETURN(auto expanded, corpus::ExpandSources(paths, form));
  RETURN_IF_ERROR(corpus::CheckContents(expanded));
  ASSIGN_OR_RETURN(const auto left_out, corpus::DescribeLeftOut(paths));
  notes.insert(notes.end(), left_out.begin(), left_out.end());
  return expanded;
}

}  // namespace gp::gpctl
