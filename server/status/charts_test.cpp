#include "server/status/charts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace hearth::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Charts, TheLatestValueIsAtTheRightAndTheLargestAtTheTop) {
  Html html;
  WriteSparkline(html, {1, 4}, "two");
  // 60 places in a width of 240, and a margin of 2 around a height of 32.
  EXPECT_THAT(html.Take(), HasSubstr("d=\"M234.0 23.0L238.0 2.0\""));
}

TEST(Charts, ALineHasPiecesWhereValuesAreMissing) {
  Html html;
  WriteSparkline(html, {2, std::nullopt, 2}, "two pieces");
  const std::string svg = html.Take();
  EXPECT_THAT(svg, HasSubstr("d=\"M230.0 2.0h0M238.0 2.0h0\""));
  EXPECT_THAT(svg, HasSubstr("aria-label=\"two pieces\""));
}

TEST(Charts, NothingAtAllIsALineAtTheBottom) {
  Html html;
  WriteSparkline(html, {0, 0}, "nothing");
  EXPECT_THAT(html.Take(), HasSubstr("d=\"M234.0 30.0L238.0 30.0\""));
  WriteSparkline(html, {}, "empty");
  WriteBars(html, {}, "no bars");
  EXPECT_THAT(html.Take(), Not(HasSubstr("nan")));
}

TEST(Charts, PartsOfABarAreItsShares) {
  Html html;
  WriteSharesBar(html, {{"one", 1}, {"absent", 0}, {"three", 3}}, "shares");
  const std::string svg = html.Take();
  EXPECT_THAT(svg, HasSubstr("class=\"one\" x=\"0.0\" y=\"0.0\" width=\"60.0\""));
  EXPECT_THAT(svg, HasSubstr("class=\"three\" x=\"60.0\" y=\"0.0\" width=\"180.0\""));
  EXPECT_THAT(svg, Not(HasSubstr("absent")));
}

}  // namespace
}  // namespace hearth::server
