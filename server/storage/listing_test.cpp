#include "server/storage/listing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace hearth::server {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

std::string Entry(const std::string& path, const std::string& size = "3",
                  const std::string& time = "2001-09-09T01:46:40.5Z") {
  return R"({"Path":")" + path + R"(","Name":"x","Size":)" + size + R"(,"ModTime":")" + time + R"(","IsDir":false})";
}

TEST(Listing, SizesAndTimesAreReadByPath) {
  const auto listing = ReadListing("[" + Entry("m/1/model.pt", "12") + "," + Entry("m/config.pbtxt") + "]");
  ASSERT_TRUE(listing.ok()) << listing.status();
  const std::chrono::sys_time<std::chrono::nanoseconds> time(std::chrono::milliseconds(1'000'000'000'500));
  EXPECT_THAT(*listing, UnorderedElementsAre(Pair("m/1/model.pt", StoredFile{12, time}),
                                             Pair("m/config.pbtxt", StoredFile{3, time})));
  EXPECT_THAT(ReadListing("[]").value(), IsEmpty());
}

TEST(Listing, WhatCannotLieInAFolderIsLeftOut) {
  for (const char* path : {"../x", "/etc/passwd", "m/../../x", "m//x", "", "m/", "m/.hidden", ".", "m/a\\nb"}) {
    EXPECT_THAT(ReadListing("[" + Entry(path) + "]").value(), IsEmpty()) << path;
  }
  EXPECT_THAT(ReadListing("[" + Entry(std::string(256, 'a')) + "]").value(), IsEmpty());
}

TEST(Listing, FoldersAreReadByTheSameRules) {
  const auto folders = ReadFolders(R"([{"Path":"m","IsDir":true},{"Path":".hidden"},{"Path":"../x"},{"Path":"n"}])");
  ASSERT_TRUE(folders.ok()) << folders.status();
  EXPECT_THAT(*folders, ::testing::ElementsAre("m", "n"));
  for (const char* text : {"", "{}", "[1]", R"([{"Path":1}])"}) {
    EXPECT_EQ(ReadFolders(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(Listing, WhatIsNoListingIsRefused) {
  for (const std::string& text :
       {std::string(), std::string("{}"), std::string("[1]"), std::string("[{}]"), "[" + Entry("m", "-1") + "]",
        "[" + Entry("m", "1.5") + "]", "[" + Entry("m", "18446744073709551615") + "]",
        "[" + Entry("m", "3", "today") + "]", "[" + Entry("m"),
        std::string(R"([{"Path":1,"Size":1,"ModTime":"2001-09-09T01:46:40Z"}])")}) {
    const auto listing = ReadListing(text);
    EXPECT_EQ(listing.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(listing.status().message()), HasSubstr("listing")) << text;
  }
}

}  // namespace
}  // namespace hearth::server
