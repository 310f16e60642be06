#include "jit/support/source_range.h"

#include <algorithm>
#include <utility>

namespace hearth {

int64_t OriginalLocation::line() const {
  return first_line + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(begin), '\n');
}

Source::Source(std::string text, std::string name, std::shared_ptr<const OriginalLocations> originals)
    : text_(std::move(text)), name_(std::move(name)), originals_(std::move(originals)) {
  line_starts_.push_back(0);
  for (size_t i = 0; i < text_.size(); ++i) {
    if (text_[i] == '\n') line_starts_.push_back(i + 1);
  }
}

Source::Position Source::PositionOf(size_t offset) const {
  auto after = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  const size_t line = static_cast<size_t>(after - line_starts_.begin());
  return {line, offset - line_starts_[line - 1]};
}

std::string_view Source::Line(size_t line) const {
  const size_t begin = line_starts_[line - 1];
  const size_t end = line < line_starts_.size() ? line_starts_[line] - 1 : text_.size();
  return std::string_view(text_).substr(begin, end - begin);
}

std::string SourceRange::Highlight() const {
  if (!source) return "";
  const Source::Position position = source->PositionOf(begin);
  const std::string_view line = source->Line(position.line);
  const size_t room = line.size() > position.column ? line.size() - position.column : 0;
  const size_t width = std::max<size_t>(1, std::min<size_t>(end - begin, room));
  std::string out = "  File \"" + source->name() + "\", line " + std::to_string(position.line) + "\n    ";
  out.append(line).append("\n    ").append(position.column, ' ').append(width, '~').append(" <--- HERE\n");
  return out;
}

}  // namespace hearth
