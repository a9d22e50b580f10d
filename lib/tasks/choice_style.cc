#include "tasks/choice_style.h"

#include <algorithm>

#include "base/check.h"
#include "tasks/harness_text.h"

namespace gp::tasks {

const std::string& StyleName(ChoiceStyle style) { return kStyleNames[static_cast<size_t>(style)]; }

ChoiceStyle StyleOf(std::string_view name) {
  const auto found = std::find(kStyleNames.begin(), kStyleNames.end(), name);
  GP_CHECK(found != kStyleNames.end());
  return static_cast<ChoiceStyle>(found - kStyleNames.begin());
}

StatusOr<ChoiceTexts> TextsOf(const ChoiceItem& item, ChoiceForm form, ChoiceStyle style) {
  ChoiceTexts texts{item.context, item.endings};
  if (style == ChoiceStyle::kCompletion || form == ChoiceForm::kOwn) return texts;
  if (!item.parts) {
    return InvalidArgument(
        "the harness style needs \"activity_label\", \"ctx_a\" and \"ctx_b\"; use the completion "
        "style, which needs \"ctx\" alone");
  }
  const HellaSwagParts& parts = *item.parts;
  texts.context =
      HarnessText(parts.activity_label + ": " + parts.ctx_a + " " + Capitalized(parts.ctx_b));
  for (std::string& ending : texts.endings) {
    ending = HarnessText(ending);
    if (ending.empty()) {
      return InvalidArgument("an ending is empty after removing its [brackets]");
    }
  }
  return texts;
}

}  // namespace gp::tasks
