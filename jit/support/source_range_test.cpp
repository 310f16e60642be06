#include "jit/support/source_range.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

TEST(Source, FindsTheLineAndColumnOfEveryByteAsCountingNewlinesDoes) {
  const std::string text = "def f():\n\n  return 1\nlast";
  const Source source(text, "code/f.py");
  size_t line = 1;
  size_t column = 0;
  for (size_t offset = 0; offset <= text.size(); ++offset) {
    const Source::Position position = source.PositionOf(offset);
    EXPECT_EQ(position.line, line) << "offset " << offset;
    EXPECT_EQ(position.column, column) << "offset " << offset;
    if (offset < text.size() && text[offset] == '\n') {
      ++line;
      column = 0;
    } else {
      ++column;
    }
  }
}

TEST(Source, GivesEachLineWithoutItsNewline) {
  const Source source("one\n\nthree\n", "x");
  EXPECT_EQ(source.Line(1), "one");
  EXPECT_EQ(source.Line(2), "");
  EXPECT_EQ(source.Line(3), "three");
  EXPECT_EQ(source.Line(4), "");
}

TEST(SourceRange, UnderlinesItsTextInItsLine) {
  const Source source("a = 1\nb = foo(a)\n", "code/m.py");
  const SourceRange range{&source, 10, 13};
  EXPECT_EQ(range.text(), "foo");
  EXPECT_EQ(range.Highlight(),
            "  File \"code/m.py\", line 2\n"
            "    b = foo(a)\n"
            "        ~~~ <--- HERE\n");
}

TEST(SourceRange, OverSeveralLinesIsUnderlinedToTheEndOfTheFirst) {
  const Source source("x = (1,\n  2)\n", "m");
  EXPECT_EQ((SourceRange{&source, 4, 12}.Highlight()),
            "  File \"m\", line 1\n"
            "    x = (1,\n"
            "        ~~~ <--- HERE\n");
}

TEST(SourceRange, AtTheEndOfTheTextStillShowsACaret) {
  const Source source("ab", "m");
  EXPECT_EQ((SourceRange{&source, 2, 2}.Highlight()),
            "  File \"m\", line 1\n"
            "    ab\n"
            "      ~ <--- HERE\n");
}

TEST(SourceRange, WithoutASourceIsEmpty) {
  EXPECT_EQ(SourceRange().text(), "");
  EXPECT_EQ(SourceRange().Highlight(), "");
}

}  // namespace
}  // namespace hearth
