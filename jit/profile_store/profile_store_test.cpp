#include "jit/profile_store/profile_store.h"

#include <ATen/core/ivalue.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <random>

#include "jit/archive/crc32.h"
#include "jit/profile_store/profile_file.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

SpecProfile Called(const std::string& method, uint64_t calls, size_t ints = 1) {
  const std::vector<c10::IValue> arguments(ints, 1);
  return {method, calls, *StoredSpec::Of(*ArgumentSpec::Of(arguments))};
}

// "method calls" of each.
std::vector<std::string> Texts(const std::vector<SpecProfile>& profiles) {
  std::vector<std::string> texts;
  for (const SpecProfile& each : profiles) texts.push_back(each.method + " " + std::to_string(each.calls));
  return texts;
}

std::string ErrorOf(std::string_view key, std::string_view bytes) {
  try {
    ReadProfileFile(key, bytes);
  } catch (const ProfileFileError& error) {
    return error.what();
  }
  return "no error";
}

class ProfileStoreTest : public testing::Test {
 protected:
  ProfileStoreTest() : folder_(fs::path(testing::TempDir()) / ("profiles-" + std::to_string(std::random_device()()))) {}
  ~ProfileStoreTest() override { fs::remove_all(folder_); }

  fs::path FileOf(const std::string& key) const { return folder_ / (key + ".profiles"); }

  const fs::path folder_;
};

TEST(ProfileFileTest, WhatIsWrittenIsRead) {
  const std::vector<SpecProfile> profiles = {Called("f", 3), Called("g", uint64_t{1} << 40, 9)};
  const std::vector<SpecProfile> read = ReadProfileFile("key", WriteProfileFile("key", profiles));
  EXPECT_THAT(Texts(read), ElementsAre("f 3", "g 1099511627776"));
  EXPECT_EQ(read[1].spec, profiles[1].spec);
}

SpeculationProfile SomeProfile() {
  SpeculationProfile profile{7, 2, {3, uint64_t{1} << 40}, {}};
  profile.seen.runs = 9;
  const c10::IValue seen[] = {5,
                              2.5,
                              true,
                              "text",
                              at::zeros({2, 8}),
                              c10::IValue(),
                              at::IntArrayRef({1, 2}),
                              at::zeros({2, 3, 4, 4}).contiguous(at::MemoryFormat::ChannelsLast)};
  for (size_t i = 0; i < std::size(seen); ++i) {
    ValueObservation& value = profile.seen.values[i];
    for (uint64_t run = 1; run <= i + 1; ++run) value.Add(seen[i], run);
  }
  profile.seen.values[4].Add(at::zeros({3, 8}), 100);
  return profile;
}

TEST(ProfileFileTest, AProfileIsReadAsItWasWritten) {
  std::vector<SpecProfile> profiles = {Called("f", 3), Called("g", 4)};
  profiles[1].speculation = SomeProfile();
  const std::vector<SpecProfile> read = ReadProfileFile("key", WriteProfileFile("key", profiles));
  EXPECT_FALSE(read[0].speculation);
  ASSERT_TRUE(read[1].speculation);
  const SpeculationProfile& profile = *read[1].speculation;
  EXPECT_EQ(profile.baseline, 7);
  EXPECT_EQ(profile.deoptimisations, 2);
  EXPECT_EQ(profile.deoptimised, profiles[1].speculation->deoptimised);
  EXPECT_EQ(profile.seen.runs, 9);
  ASSERT_EQ(profile.seen.values.size(), 8);
  for (const auto& [number, seen] : profile.seen.values) {
    const ValueObservation& expected = profiles[1].speculation->seen.values.at(number);
    EXPECT_EQ(seen.runs, expected.runs) << number;
    EXPECT_EQ(seen.times, expected.times) << number;
    EXPECT_EQ(seen.none, expected.none) << number;
    EXPECT_EQ(seen.some, expected.some) << number;
    EXPECT_EQ(seen.constant, expected.constant) << number;
    EXPECT_EQ(seen.facts, expected.facts) << number;
    EXPECT_EQ(seen.dimensions, expected.dimensions) << number;
  }
}

TEST(ProfileFileTest, ShapesAreReadAsTheyWereWritten) {
  std::vector<SpecProfile> profiles = {Called("f", 3), Called("g", 4), Called("h", 5)};
  profiles[0].shapes = {{{2, 2, 3, 3, 1}, uint64_t{1} << 40, true}, {{-1}, 7, false}};
  profiles[2].shapes = {{{}, 0, false}};
  const std::vector<SpecProfile> read = ReadProfileFile("key", WriteProfileFile("key", profiles));
  for (size_t i = 0; i < profiles.size(); ++i) EXPECT_EQ(read[i].shapes, profiles[i].shapes) << i;
}

TEST(ProfileFileTest, ShapesThatAreTooManyAreLeftOut) {
  std::vector<SpecProfile> profiles(3, Called("f", 3));
  for (SpecProfile& each : profiles) each.shapes.assign(StoredShape::kMost, {std::vector<int64_t>(6000, 1), 1, true});
  profiles[0].shapes.resize(StoredShape::kMost + 1, {{1}, 1, true});
  const std::vector<SpecProfile> read = ReadProfileFile("key", WriteProfileFile("key", profiles));
  EXPECT_EQ(read[0].shapes.size(), StoredShape::kMost);
  EXPECT_EQ(read[1].shapes, profiles[1].shapes);
  EXPECT_TRUE(read[2].shapes.empty());
}

// A file of one spec, and of bytes in a section of that number.
std::string FileWith(uint32_t number, const std::string& section) {
  FileBytes body;
  body.Put(std::string_view("key"));
  const std::string whole = WriteProfileFile("key", {Called("f", 3)});
  // The head, the key, the number and the length of section 1, which says how long that is.
  const size_t head = 24 + 4 + 3;
  uint64_t length = 0;
  std::memcpy(&length, whole.data() + head + 4, sizeof(length));
  body.bytes() += whole.substr(head, 12 + length);
  body.Put(number);
  body.Put(static_cast<uint64_t>(section.size()));
  body.bytes() += section;
  FileBytes file;
  file.bytes() = whole.substr(0, 12);
  file.Put(Crc32(body.bytes()));
  file.Put(static_cast<uint64_t>(body.bytes().size()));
  return file.bytes() + body.bytes();
}

TEST(ProfileFileTest, AFileOfAnEarlierVersionHasNoShapesAndSectionsOfALaterOneAreSkipped) {
  const std::vector<SpecProfile> read = ReadProfileFile("key", FileWith(99, "whatever it is"));
  EXPECT_THAT(Texts(read), ElementsAre("f 3"));
  EXPECT_TRUE(read[0].shapes.empty());
}

TEST(ProfileFileTest, ShapesThatAreNotWholeSayWhatIsWrong) {
  const auto error = [](const auto&... numbers) {
    FileBytes section;
    (section.Put(numbers), ...);
    return ErrorOf("key", FileWith(3, section.bytes()));
  };
  constexpr uint32_t kOne = 1, kNone = 0;
  constexpr uint64_t kCalls = 5;
  constexpr uint8_t kExact = 1;
  EXPECT_EQ(error(kOne, kNone, kOne, kCalls, kExact, kOne, kCalls), "no error");
  EXPECT_THAT(error(uint32_t{1} << 31), HasSubstr("ends within the shapes"));
  EXPECT_THAT(error(kOne, kOne, kNone), HasSubstr("the shapes are of spec 1 of 1"));
  EXPECT_THAT(error(kOne, kNone, uint32_t{1} << 31), HasSubstr("ends within the shapes of a spec"));
  EXPECT_THAT(error(kOne, kNone, kOne, kCalls, kExact, kOne), HasSubstr("ends within a shape's numbers"));
  EXPECT_THAT(error(kOne, kNone, kNone, kExact), HasSubstr("bytes follow the shapes"));
  FileBytes many;
  for (const uint32_t number : {1, 0, 9}) many.Put(number);
  for (int i = 0; i < 9 * 13; ++i) many.Put(uint8_t{0});
  EXPECT_THAT(ErrorOf("key", FileWith(3, many.bytes())), HasSubstr("9 shapes, and not 8 at most"));
}

TEST(ProfileFileTest, ProfilesThatAreTooManyAreLeftOut) {
  std::vector<SpecProfile> profiles(3, Called("f", 3));
  for (SpecProfile& each : profiles) {
    each.speculation.emplace();
    for (uint64_t i = 0; i < 100000; ++i) each.speculation->deoptimised.insert(i);
  }
  const std::string file = WriteProfileFile("key", profiles);
  EXPECT_LE(file.size(), kMaxProfileFileBytes);
  const std::vector<SpecProfile> read = ReadProfileFile("key", file);
  EXPECT_TRUE(read[0].speculation && read[1].speculation);
  EXPECT_FALSE(read[2].speculation);
}

TEST(ProfileFileTest, AFileThatIsNotWholeSaysWhatIsWrong) {
  const std::string file = WriteProfileFile("key", {Called("f", 3)});
  EXPECT_THAT(ErrorOf("key", ""), HasSubstr("ends within"));
  EXPECT_THAT(ErrorOf("key", "something else"), HasSubstr("does not begin"));
  EXPECT_THAT(ErrorOf("key", file.substr(0, file.size() - 1)), HasSubstr("bytes follow"));
  EXPECT_THAT(ErrorOf("key", file + "x"), HasSubstr("bytes follow"));
  EXPECT_THAT(ErrorOf("other", file), HasSubstr("belongs to 'key'"));
  std::string changed = file;
  changed[8] = 1;
  EXPECT_THAT(ErrorOf("key", changed), HasSubstr("format is 1"));
  for (size_t at = 24; at < file.size(); ++at) {
    changed = file;
    changed[at] ^= 1;
    EXPECT_THAT(ErrorOf("key", changed), HasSubstr("checksum")) << at;
  }
}

TEST_F(ProfileStoreTest, WhatAProcessKnewAndDidNotCallCountsHalfOnceAndIsForgottenInTheEnd) {
  const ProfileStore store(folder_);
  store.Write("key", {Called("f", 5), Called("g", 1), Called("h", 8)});
  const std::vector<SpecProfile> read = store.Read("key");
  store.Write("key", {Called("h", 20)});  // of another process
  for (const uint64_t calls : {9, 10}) {
    store.Write("key", {Called("x", calls)}, read);
    EXPECT_THAT(Texts(store.Read("key")), ElementsAre("h 20", "x " + std::to_string(calls), "f 2"));
  }
}

TEST_F(ProfileStoreTest, WhatCouldNotBeCompiledIsForgotten) {
  const ProfileStore store(folder_);
  store.Write("key", {Called("f", 5), Called("g", 7)});
  store.Write("key", {Called("f", 0), Called("h", 0)});
  EXPECT_THAT(Texts(store.Read("key")), ElementsAre("g 7"));
}

TEST_F(ProfileStoreTest, TwoThatWriteAddToEachOther) {
  const ProfileStore one(folder_);
  const ProfileStore other(folder_);
  one.Write("key", {Called("f", 3), Called("g", 1)});
  other.Write("key", {Called("g", 7), Called("g", 5, 2)});
  EXPECT_THAT(Texts(one.Read("key")), ElementsAre("g 7", "g 5", "f 3"));
  EXPECT_TRUE(one.Read("another").empty());
}

TEST_F(ProfileStoreTest, AFileThatIsBrokenIsIgnoredAndWrittenAnew) {
  const ProfileStore store(folder_);
  std::ofstream(FileOf("key")) << "nothing like it";
  EXPECT_TRUE(store.Read("key").empty());
  store.Write("key", {Called("f", 3)});
  EXPECT_THAT(Texts(store.Read("key")), ElementsAre("f 3"));
}

TEST_F(ProfileStoreTest, WhatIsCalledLeastMakesRoomInAFileAndWhatIsOldestInTheFolder) {
  const std::string file = WriteProfileFile("a", {Called("f", 1), Called("g", 2)});
  const ProfileStore store(folder_, {2, 2 * file.size()});
  store.Write("a", {Called("f", 1), Called("g", 2), Called("h", 3)});
  EXPECT_THAT(Texts(store.Read("a")), ElementsAre("h 3", "g 2"));
  fs::last_write_time(FileOf("a"), fs::file_time_type::clock::now() - std::chrono::hours(1));
  store.Write("b", {Called("f", 1), Called("g", 2)});
  EXPECT_EQ(store.Read("a").size(), 2);
  store.Write("c", {Called("f", 1), Called("g", 2)});
  EXPECT_TRUE(store.Read("a").empty());
  EXPECT_EQ(store.Read("b").size(), 2);
  EXPECT_EQ(store.Read("c").size(), 2);
}

TEST_F(ProfileStoreTest, WhatAWriterLeftUnfinishedLongAgoIsDeleted) {
  const ProfileStore store(folder_);
  const fs::path old = folder_ / "key.profiles.new-1-0";
  const fs::path fresh = folder_ / "key.profiles.new-2-0";
  for (const fs::path& path : {old, fresh}) std::ofstream(path) << "half of it";
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(2));
  store.Write("key", {Called("f", 1)});
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(fresh));
}

TEST_F(ProfileStoreTest, AFolderThatCannotBeWrittenDoesNoHarm) {
  std::ofstream(folder_.string()) << "a file";
  const ProfileStore store(folder_ / "below");
  store.Write("key", {Called("f", 1)});
  EXPECT_TRUE(store.Read("key").empty());
}

}  // namespace
}  // namespace hearth
