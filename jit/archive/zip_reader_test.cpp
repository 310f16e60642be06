#include "jit/archive/zip_reader.h"

#include <caffe2/serialize/inline_container.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <thread>

#include "jit/archive/crc32.h"
#include "jit/archive/test_values.h"
#include "jit/support/background_thread.h"

namespace hearth {
namespace {

using testing::HasSubstr;

// A zip file put together by hand, so that each field can be wrong.
class ZipBuilder {
 public:
  struct Entry {
    std::string name;
    std::string contents;
    bool deflate = false;
    uint32_t claimed_size = 0;  // where not 0, in place of the true one
    uint32_t flags = 0;
    int64_t moved_header = -1;  // where not -1, the offset that the directory gives
  };

  ZipBuilder& Add(Entry entry) {
    entries_.push_back(std::move(entry));
    return *this;
  }

  std::string Build() const {
    std::string file;
    std::string directory;
    for (const Entry& entry : entries_) {
      const std::string stored = entry.deflate ? Deflated(entry.contents) : entry.contents;
      const auto size = static_cast<uint32_t>(entry.claimed_size ? entry.claimed_size : entry.contents.size());
      const auto offset = static_cast<uint32_t>(entry.moved_header >= 0 ? entry.moved_header : file.size());
      std::string common = Number(20, 2) + Number(entry.flags, 2) + Number(entry.deflate ? 8 : 0, 2) + Number(0, 4) +
                           Number(Crc32(entry.contents), 4) + Number(static_cast<uint32_t>(stored.size()), 4) +
                           Number(size, 4) + Number(static_cast<uint32_t>(entry.name.size()), 2) + Number(0, 2);
      file += Number(0x04034b50, 4) + common + entry.name + stored;
      directory += Number(0x02014b50, 4) + Number(20, 2) + common + Number(0, 2) + Number(0, 4) + Number(0, 4) +
                   Number(offset, 4) + entry.name;
    }
    const auto offset = static_cast<uint32_t>(file.size());
    const auto count = static_cast<uint32_t>(entries_.size());
    file += directory + Number(0x06054b50, 4) + Number(0, 4) + Number(count, 2) + Number(count, 2) +
            Number(static_cast<uint32_t>(directory.size()), 4) + Number(offset, 4) + Number(0, 2);
    return file;
  }

 private:
  static std::string Number(uint32_t value, int bytes) {
    std::string out;
    for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
    return out;
  }

  static std::string Deflated(const std::string& contents) {
    z_stream stream = {};
    EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY), Z_OK);
    std::string out(deflateBound(&stream, contents.size()), '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(contents.data()));
    stream.avail_in = static_cast<uInt>(contents.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
    out.resize(stream.total_out);
    deflateEnd(&stream);
    return out;
  }

  std::vector<Entry> entries_;
};

ZipReader Open(std::string_view bytes, const ZipLimits& limits = {}) {
  return ZipReader(Mapping::Copy(bytes, "m.pt"), limits);
}

// The message of opening the file and reading all of its records.
std::string ZipError(std::string_view bytes, const ZipLimits& limits = {}) {
  try {
    const ZipReader zip = Open(bytes, limits);
    for (const ZipRecord& record : zip.records()) zip.Read(record);
  } catch (const ArchiveError& error) {
    return error.what();
  }
  return "";
}

std::string WrittenByCaffe2(const std::map<std::string, std::pair<std::string, bool>>& records) {
  std::string file;
  caffe2::serialize::PyTorchStreamWriter writer([&](const void* data, size_t size) {
    file.append(static_cast<const char*>(data), size);
    return size;
  });
  for (const auto& [name, record] : records) {
    writer.writeRecord(name, record.first.data(), record.first.size(), record.second);
  }
  writer.writeEndOfFile();
  return file;
}

TEST(ZipReader, ReadsWhatCaffe2WritesAsCaffe2Does) {
  const std::string file = WrittenByCaffe2({{"data.pkl", {"pickle", false}},
                                            {"data/0", {std::string(1000, 'w'), false}},
                                            {"data/1", {"", false}},
                                            {"code/__torch__.py", {std::string(10000, ' '), true}}});
  const ZipReader zip = Open(file);
  std::istringstream stream(file);
  caffe2::serialize::PyTorchStreamReader oracle(&stream);
  EXPECT_EQ(zip.top_folder(), "archive");
  EXPECT_EQ(zip.records().size(), oracle.getAllRecords().size());
  for (const std::string& name : oracle.getAllRecords()) {
    const auto [data, size] = oracle.getRecord(name);
    EXPECT_EQ(zip.Read(name).view(), std::string_view(static_cast<const char*>(data.get()), size)) << name;
  }
}

TEST(ZipReader, StoredRecordsAreViewsOfTheMappingOnThe64ByteGrid) {
  const ZipReader zip = Open(WrittenByCaffe2({{"data/0", {std::string(1000, 'w'), false}}}));
  const RecordBytes bytes = zip.Read("data/0");
  const std::string_view file = zip.mapping()->bytes();
  EXPECT_TRUE(bytes.data > file.data() && bytes.data + bytes.size < file.data() + file.size());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes.data) % 64, 0u);
}

TEST(ZipReader, RecordsOutsideOfTheTopFolderAreNotListed) {
  const ZipReader zip = Open(ZipBuilder().Add({"m/a", "1"}).Add({"other/b", "2"}).Add({"m/sub/", ""}).Build());
  ASSERT_EQ(zip.records().size(), 1u);
  EXPECT_EQ(zip.records()[0].name, "a");
  EXPECT_EQ(zip.Find("b"), nullptr);
}

TEST(ZipReader, ACommentAtTheEndIsAllowed) {
  std::string file = ZipBuilder().Add({"m/a", "1"}).Build();
  file[file.size() - 2] = 5;
  file += "PK\5\6!";
  EXPECT_EQ(Open(file).Read("a").view(), "1");
}

TEST(ZipReader, ChangedBytesOfARecordAreSeen) {
  for (const bool deflate : {false, true}) {
    std::string file = ZipBuilder().Add({"m/a", "some contents", deflate}).Build();
    file[30 + 3 + 4] ^= 4;
    EXPECT_THAT(ZipError(file), HasSubstr("record 'a' is damaged"));
  }
}

TEST(ZipReader, SaysWhatAForeignFileIs) {
  EXPECT_THAT(ZipError(""), HasSubstr("m.pt: not a TorchScript archive: the file is empty"));
  EXPECT_THAT(ZipError("PYTORCH1 and more"), HasSubstr("PyTorch 1.0"));
  EXPECT_THAT(ZipError(std::string("\x14\0\0\0PTMF and more", 17)), HasSubstr("flatbuffer for the mobile interpreter"));
  EXPECT_THAT(ZipError("\x80\x02}q."), HasSubstr("a bare pickle"));
  EXPECT_THAT(ZipError("hello, world; this is no archive"), HasSubstr("no zip file"));
  EXPECT_THAT(ZipError(ZipBuilder().Add({"m/a", "1"}).Build().substr(0, 60)), HasSubstr("cut off"));
  EXPECT_THAT(ZipError(ZipBuilder().Add({"a", "1"}).Build()), HasSubstr("not in a top folder"));
}

TEST(ZipReader, RefusesZipBombs) {
  const std::string zeros(64 << 20, '\0');
  EXPECT_THAT(ZipError(ZipBuilder().Add({"m/a", zeros, true}).Build()),
              HasSubstr("no honest record is packed so tightly"));
  const std::string lies = ZipBuilder().Add({"m/a", zeros, true, 1000}).Build();
  EXPECT_THAT(ZipError(lies), HasSubstr("does not inflate to the size"));
  ZipLimits limits;
  limits.max_inflated_record = 1000;
  EXPECT_THAT(ZipError(ZipBuilder().Add({"m/a", std::string(2000, 'x'), true}).Build(), limits),
              HasSubstr("too large"));
  limits.max_inflated_record = 3000;
  limits.max_inflated_total = 3000;
  const std::string two =
      ZipBuilder().Add({"m/a", std::string(2000, 'x'), true}).Add({"m/b", std::string(2000, 'x'), true}).Build();
  EXPECT_THAT(ZipError(two, limits), HasSubstr("too much together"));
}

TEST(ZipReader, RefusesRecordsThatOverlap) {
  const std::string inside = ZipBuilder().Add({"m/x", "1"}).Build().substr(0, 34);
  // The second entry's header lies within the first one's contents.
  const std::string file = ZipBuilder().Add({"m/a", inside + "...."}).Add({"m/x", "1", false, 0, 0, 33}).Build();
  EXPECT_THAT(ZipError(file), HasSubstr("records 'm/a' and 'm/x' overlap"));
  EXPECT_THAT(ZipError(ZipBuilder().Add({"m/a", "1"}).Add({"m/a", "1", false, 0, 0, 0}).Build()), HasSubstr("overlap"));
}

TEST(ZipReader, RefusesWhatTheFormatAllowsAndArchivesDoNotHave) {
  EXPECT_THAT(ZipError(ZipBuilder().Add({"m/a", "1"}).Add({"m/a", "2"}).Build()), HasSubstr("'a' is there twice"));
  EXPECT_THAT(ZipError(ZipBuilder().Add({"m/a", "1", false, 0, 1}).Build()), HasSubstr("encrypted"));
  EXPECT_THAT(ZipError(ZipBuilder().Add({"m/a", "1", false, 100}).Build()), HasSubstr("two sizes"));
  EXPECT_THAT(ZipError(ZipBuilder().Add({"m/a", "1", false, 0, 0, 100000}).Build()), HasSubstr("not where"));
}

// A record of several pieces, which threads bring, between two of one.
class LargeZipFile : public testing::Test {
 protected:
  LargeZipFile() {
    large_.resize(21'000'001);
    for (size_t i = 0; i < large_.size(); ++i) large_[i] = static_cast<char>(i * 2654435761u >> 13);
    zip_ = ZipBuilder().Add({"m/a", "before"}).Add({"m/large", large_}).Add({"m/z", "behind", true}).Build();
  }
  ~LargeZipFile() override { std::filesystem::remove(path_); }

  ZipReader Open() const { return ZipReader(Mapping::Open(path_, Mapping::Mode::kPrivateCopy)); }

  const std::string path_ = testing::TempDir() + "large_zip_" + std::to_string(getpid());
  std::string large_;
  std::string zip_;
};

TEST_F(LargeZipFile, HasItsRecordsInWhateverOrderTheyAreAskedFor) {
  WriteTestFile(path_, zip_);
  for (const bool backwards : {false, true}) {
    const ZipReader zip = Open();
    if (backwards) EXPECT_EQ(zip.Read("z").view(), "behind");
    EXPECT_TRUE(zip.Read("large").view() == large_);
    EXPECT_EQ(zip.Read("a").view(), "before");
    EXPECT_EQ(zip.Read("z").view(), "behind");
    zip.ReadAll();
    EXPECT_TRUE(zip.Read("large").view() == large_);
  }
}

size_t ThreadsOfProcess() {
  const std::filesystem::directory_iterator threads("/proc/self/task");
  return static_cast<size_t>(std::distance(begin(threads), end(threads)));
}

TEST_F(LargeZipFile, InTheBackgroundItHasNoThreadsOfItsOwn) {
  WriteTestFile(path_, zip_);
  std::thread([&] {
    TakeLowPriority();
    const size_t before = ThreadsOfProcess();
    const ZipReader zip = Open();
    EXPECT_EQ(ThreadsOfProcess(), before);
    EXPECT_EQ(zip.Read("z").view(), "behind");
    EXPECT_TRUE(zip.Read("large").view() == large_);
    zip.ReadAll();
    EXPECT_EQ(zip.Read("a").view(), "before");
  }).join();
}

TEST_F(LargeZipFile, IsItsOwnOnceAllIsRead) {
  WriteTestFile(path_, zip_);
  const ZipReader zip = Open();
  zip.ReadAll();
  // Written in place, as somebody who does not know better would.
  std::ofstream(path_, std::ios::in | std::ios::out | std::ios::binary) << std::string(zip_.size(), 'x');
  EXPECT_TRUE(zip.Read("large").view() == large_);
}

TEST_F(LargeZipFile, AChangedByteInAnyPieceIsSeen) {
  for (const size_t at : {size_t{0}, size_t{5} << 20, large_.size() - 1}) {
    std::string changed = zip_;
    changed[zip_.find("m/large") + 7 + at] ^= 1;
    WriteTestFile(path_, changed);
    const ZipReader zip = Open();
    EXPECT_EQ(zip.Read("a").view(), "before");
    for (int i = 0; i < 2; ++i) {
      EXPECT_THAT([&] { zip.Read("large"); }, testing::ThrowsMessage<ArchiveError>(HasSubstr("'large' is damaged")));
    }
    EXPECT_EQ(zip.Read("z").view(), "behind");
  }
}

TEST_F(LargeZipFile, CutOffAfterItWasOpenedIsAnError) {
  WriteTestFile(path_, zip_);
  const auto mapping = Mapping::Open(path_, Mapping::Mode::kPrivateCopy);
  mapping->Fill(0, mapping->bytes().size());
  std::filesystem::resize_file(path_, 1000);
  EXPECT_THROW(ZipReader{mapping}, ArchiveError);
}

TEST(ZipReader, AMissingRecordIsNamed) {
  const ZipReader zip = Open(ZipBuilder().Add({"m/a", "1"}).Build());
  EXPECT_THROW(
      {
        try {
          zip.Read("data/7");
        } catch (const ArchiveError& error) {
          EXPECT_STREQ(error.what(), "m.pt: record 'data/7' is missing");
          throw;
        }
      },
      ArchiveError);
}

}  // namespace
}  // namespace hearth
