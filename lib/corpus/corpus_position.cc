#include "corpus/corpus_position.h"

namespace gp::corpus {

formats::JsonObject::Json CorpusPositionJson(const CorpusPosition& position) {
  return {{"source", position.source},
          {"byte", position.block.offset},
          {"line", position.block.line},
          {"inside_document", position.block.inside_document}};
}

CorpusPosition ReadCorpusPosition(formats::JsonObject& fields) {
  CorpusPosition position;
  fields.Read("source", position.source);
  fields.Read("byte", position.block.offset);
  fields.Read("line", position.block.line);
  fields.Read("inside_document", position.block.inside_document);
  return position;
}

}  // namespace gp::corpus
