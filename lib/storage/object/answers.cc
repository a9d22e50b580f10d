#include "storage/object/answers.h"

#include <charconv>
#include <pugixml.hpp>
#include <utility>

#include "base/text/excerpt.h"
#include "storage/object/percent.h"
#include "storage/object/wire_time.h"

namespace gp::object {
namespace {

constexpr size_t kMessageCharactersMax = 200;

std::string ChildText(const pugi::xml_node& node, const char* name) {
  return node.child_value(name);
}

// Loads `body` into `document` and returns its element `name`.
StatusOr<pugi::xml_node> Root(const std::string& body, const char* name,
                              pugi::xml_document& document) {
  const pugi::xml_parse_result parsed = document.load_buffer(body.data(), body.size());
  if (!parsed) {
    return DataLoss("the answer is not whole XML: {} at byte {} of {}", parsed.description(),
                    parsed.offset, body.size());
  }
  const pugi::xml_node root = document.child(name);
  if (!root) {
    return DataLoss("the answer is <{}>, expected <{}>",
                    Excerpt(document.document_element().name()), name);
  }
  return root;
}

// An ETag without its quotes.
std::string EtagText(const pugi::xml_node& node) {
  std::string etag = ChildText(node, "ETag");
  std::erase(etag, '"');
  return etag;
}

StatusOr<uint64_t> Number(const std::string& text) {
  uint64_t number = 0;
  const char* end = text.data() + text.size();
  if (text.empty() || std::from_chars(text.data(), end, number).ptr != end) {
    return DataLoss("the answer has '{}', expected a number", Excerpt(text));
  }
  return number;
}

bool IsTruncated(const pugi::xml_node& root) { return ChildText(root, "IsTruncated") == "true"; }

// How the keys of a listing are read. Requests ask for percent-encoding, because XML cannot spell
// every byte; a server that does not know it answers without.
class KeyReader {
 public:
  explicit KeyReader(const pugi::xml_node& root)
      : is_encoded_(ChildText(root, "EncodingType") == "url") {}

  StatusOr<std::string> Read(std::string text) const {
    if (!is_encoded_) return text;
    // Some servers write a space as '+', as forms do; a plus is %2B for all of them.
    for (char& byte : text) {
      if (byte == '+') byte = ' ';
    }
    return Decode(text);
  }

 private:
  const bool is_encoded_;
};

}  // namespace

ErrorAnswer ParseError(const std::string& body) {
  pugi::xml_document document;
  const auto root = Root(body, "Error", document);
  if (!root.ok()) return {};
  return {ChildText(*root, "Code"), Excerpt(ChildText(*root, "Message"), kMessageCharactersMax),
          ChildText(*root, "Region"), ChildText(*root, "ServerTime")};
}

StatusOr<Listing> ParseListing(const std::string& body) {
  pugi::xml_document document;
  ASSIGN_OR_RETURN(const auto root, Root(body, "ListBucketResult", document));
  const KeyReader reader(root);
  Listing listing;
  for (const pugi::xml_node& entry : root.children("Contents")) {
    ASSIGN_OR_RETURN(std::string key, reader.Read(ChildText(entry, "Key")));
    listing.keys.push_back(std::move(key));
  }
  for (const pugi::xml_node& entry : root.children("CommonPrefixes")) {
    ASSIGN_OR_RETURN(std::string prefix, reader.Read(ChildText(entry, "Prefix")));
    listing.prefixes.push_back(std::move(prefix));
  }
  if (!IsTruncated(root)) return listing;
  listing.continuation = ChildText(root, "NextContinuationToken");
  if (listing.continuation.empty()) {
    return DataLoss("the list has more pages, but no token for the next one");
  }
  return listing;
}

StatusOr<std::string> ParseUploadId(const std::string& body) {
  pugi::xml_document document;
  ASSIGN_OR_RETURN(const auto root, Root(body, "InitiateMultipartUploadResult", document));
  std::string id = ChildText(root, "UploadId");
  if (id.empty()) return DataLoss("the answer has no UploadId");
  return id;
}

StatusOr<PartListing> ParseParts(const std::string& body) {
  pugi::xml_document document;
  ASSIGN_OR_RETURN(const auto root, Root(body, "ListPartsResult", document));
  PartListing listing;
  for (const pugi::xml_node& entry : root.children("Part")) {
    ASSIGN_OR_RETURN(const uint64_t number, Number(ChildText(entry, "PartNumber")));
    ASSIGN_OR_RETURN(const uint64_t size, Number(ChildText(entry, "Size")));
    listing.parts.push_back({static_cast<int>(number), EtagText(entry), size});
  }
  if (!IsTruncated(root)) return listing;
  ASSIGN_OR_RETURN(const uint64_t next, Number(ChildText(root, "NextPartNumberMarker")));
  listing.next = static_cast<int>(next);
  return listing;
}

StatusOr<UploadListing> ParseUploads(const std::string& body) {
  pugi::xml_document document;
  ASSIGN_OR_RETURN(const auto root, Root(body, "ListMultipartUploadsResult", document));
  const KeyReader reader(root);
  UploadListing listing;
  for (const pugi::xml_node& entry : root.children("Upload")) {
    ASSIGN_OR_RETURN(std::string key, reader.Read(ChildText(entry, "Key")));
    ASSIGN_OR_RETURN(const WallTime initiated, ParseTime(ChildText(entry, "Initiated")));
    listing.uploads.push_back({std::move(key), ChildText(entry, "UploadId"), initiated});
  }
  if (!IsTruncated(root)) return listing;
  ASSIGN_OR_RETURN(listing.next_key, reader.Read(ChildText(root, "NextKeyMarker")));
  listing.next_id = ChildText(root, "NextUploadIdMarker");
  if (listing.next_key.empty()) {
    return DataLoss("the list of uploads has more pages, but no key at which the next one begins");
  }
  return listing;
}

StatusOr<std::string> ParseCompletion(const std::string& body) {
  const ErrorAnswer error = ParseError(body);
  if (!error.code.empty()) return Unavailable("{} ({})", error.code, error.message);
  pugi::xml_document document;
  ASSIGN_OR_RETURN(const auto root, Root(body, "CompleteMultipartUploadResult", document));
  return EtagText(root);
}

std::string CompletionText(const std::vector<Part>& parts) {
  std::string text = "<CompleteMultipartUpload>";
  for (const Part& part : parts) {
    text += fmt::format("<Part><PartNumber>{}</PartNumber><ETag>\"{}\"</ETag></Part>", part.number,
                        part.etag);
  }
  return text + "</CompleteMultipartUpload>";
}

}  // namespace gp::object
