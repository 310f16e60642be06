#include "cli/record_file.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/delimited_message_util.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace hearth::cli {
namespace {

using ::testing::HasSubstr;

v1::RecordPart Header(uint32_t version = 1) {
  v1::RecordPart part;
  part.mutable_header()->set_format("hearth-record");
  part.mutable_header()->set_format_version(version);
  part.mutable_header()->set_model("m");
  return part;
}

v1::RecordPart Request(uint64_t arrival, const std::string& message = "") {
  v1::RecordPart part;
  part.mutable_request()->set_arrival_ns(arrival);
  part.mutable_request()->set_request(message);
  return part;
}

v1::RecordPart End() {
  v1::RecordPart part;
  part.mutable_end()->set_reason("its time is over");
  return part;
}

// By Protobuf's own means.
std::string Delimited(const std::vector<v1::RecordPart>& parts) {
  std::ostringstream text;
  for (const v1::RecordPart& part : parts) google::protobuf::util::SerializeDelimitedToOstream(part, &text);
  return text.str();
}

std::string Refused(const std::string& bytes) { return std::string(ReadRecordContents(bytes).status().message()); }

TEST(RecordFile, RequestsComeInTheOrderOfTheirArrival) {
  const std::string bytes = Delimited({Header(), Request(20, std::string(300, 'b')), Request(10, "a"), End()});
  const auto contents = ReadRecordContents(bytes);
  ASSERT_TRUE(contents.ok()) << contents.status();
  EXPECT_EQ(contents->header.model(), "m");
  ASSERT_EQ(contents->items.size(), 2);
  EXPECT_EQ(contents->items[0].arrival_ns, 10);
  v1::RecordPart second;
  EXPECT_TRUE(second.ParseFromString(std::string(contents->items[1].message)));
  EXPECT_EQ(second.request().request(), std::string(300, 'b'));
  EXPECT_EQ(contents->end->reason(), "its time is over");
  EXPECT_FALSE(ReadRecordContents(Delimited({Header()}))->end);
}

TEST(RecordFile, WhatIsWrongIsNamed) {
  EXPECT_EQ(Refused(""), "it is no recording of hearth's: it is empty");
  EXPECT_THAT(Refused("PK\x03\x04 and so on"), HasSubstr("it is no recording of hearth's"));
  EXPECT_THAT(Refused(Delimited({Request(1)})), HasSubstr("does not begin with the header of one"));
  EXPECT_EQ(Refused(Delimited({Header(7)})), "its format has the version 7; this program reads version 1");
  const std::string whole = Delimited({Header(), Request(1, "0123456789")});
  const std::string place = "message 2, at byte " + std::to_string(Delimited({Header()}).size());
  EXPECT_THAT(Refused(whole.substr(0, whole.size() - 4)), HasSubstr(place + ", should have "));
  EXPECT_THAT(Refused(whole + "\xff"), HasSubstr("ends within its length"));
  EXPECT_THAT(Refused(whole + std::string(9, '\xff')), HasSubstr("has no length before it"));
  EXPECT_THAT(Refused(whole + "\xff\xff\xff\xff\x0f"), HasSubstr("has 4294967295 bytes; a message has at most"));
  EXPECT_THAT(Refused(whole + std::string("\x02\xff\xff", 3)), HasSubstr("is no hearth.v1.RecordPart"));
  EXPECT_THAT(Refused(whole + std::string(1, '\0')), HasSubstr("is neither a request nor the end"));
  EXPECT_THAT(Refused(Delimited({Header(), Header()})), HasSubstr("message 2, at byte"));
  EXPECT_THAT(Refused(Delimited({Header(), End(), Request(1)})), HasSubstr("comes after the end"));
}

TEST(RecordFile, WhatIsWrittenIsRead) {
  const std::string path = std::filesystem::temp_directory_path() / ("record_file_test." + std::to_string(getpid()));
  {
    auto writer = RecordWriter::Create(path);
    ASSERT_TRUE(writer.ok());
    for (const v1::RecordPart& part : {Header(), Request(1, std::string(1 << 20, 'x')), End()}) {
      EXPECT_TRUE(writer->Write(part).ok());
    }
    EXPECT_EQ(writer->bytes(), Delimited({Header(), Request(1, std::string(1 << 20, 'x')), End()}).size());
    EXPECT_TRUE(writer->Close().ok());
  }
  const auto file = RecordFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->contents().items.size(), 1);
  std::filesystem::remove(path);
  EXPECT_THAT(std::string(RecordFile::Open(path).status().message()), HasSubstr("No such file"));
  EXPECT_THAT(std::string(RecordFile::Open("/").status().message()), HasSubstr("/: is no file"));
  EXPECT_THAT(std::string(RecordWriter::Create("/no/such/folder/x").status().message()), HasSubstr("No such file"));
}

}  // namespace
}  // namespace hearth::cli
