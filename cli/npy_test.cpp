// The expected bytes are what numpy 2.4 wrote: np.save(file, array).
#include "cli/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace hearth::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A file of version 1 with this header, padded as numpy pads it.
std::string File(std::string header, std::string_view data) {
  header.append(63 - (header.size() + 10) % 64, ' ').append("\n");
  std::string file("\x93NUMPY\x01\x00", 8);
  file += {static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  return file + header + std::string(data);
}

template <typename T>
std::string Raw(std::initializer_list<T> elements) {
  return std::string(reinterpret_cast<const char*>(elements.begin()), elements.size() * sizeof(T));
}

std::string BytesOf(const WireTensor& tensor) {
  return std::string(static_cast<const char*>(tensor.tensor.const_data_ptr()), tensor.tensor.nbytes());
}

TEST(NpyTest, ReadsWhatNumpyWroteForAMatrixOfFloats) {
  // np.arange(6, dtype='<f4').reshape(2, 3)
  const auto tensor =
      ParseNpy(File("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", Raw<float>({0, 1, 2, 3, 4, 5})));
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_STREQ(tensor->datatype->name, "FP32");
  EXPECT_THAT(tensor->shape, ElementsAre(2, 3));
  EXPECT_EQ(BytesOf(*tensor), Raw<float>({0, 1, 2, 3, 4, 5}));
}

TEST(NpyTest, PutsColumnMajorElementsInRowMajorOrder) {
  // np.asfortranarray(np.arange(6, dtype='<i2').reshape(2, 3))
  const auto tensor =
      ParseNpy(File("{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }", Raw<int16_t>({0, 3, 1, 4, 2, 5})));
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_EQ(BytesOf(*tensor), Raw<int16_t>({0, 1, 2, 3, 4, 5}));
}

TEST(NpyTest, SwapsBigEndianElements) {
  const auto tensor =
      ParseNpy(File("{'descr': '>i4', 'fortran_order': False, 'shape': (1,), }", {"\x01\x02\x03\x04", 4}));
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_EQ(BytesOf(*tensor), Raw<int32_t>({0x01020304}));
}

TEST(NpyTest, TurnsUnicodeStringsIntoUtf8Elements) {
  // np.array(['é', 'ab'])
  const auto tensor =
      ParseNpy(File("{'descr': '<U2', 'fortran_order': False, 'shape': (2,), }", Raw<uint32_t>({0xe9, 0, 'a', 'b'})));
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_STREQ(tensor->datatype->name, "BYTES");
  EXPECT_THAT(tensor->strings, ElementsAre("\xc3\xa9", "ab"));
}

TEST(NpyTest, TakesAScalar) {
  const auto tensor = ParseNpy(File("{'descr': '<f8', 'fortran_order': False, 'shape': (), }", Raw<double>({2.5})));
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_TRUE(tensor->shape.empty());
}

TEST(NpyTest, WritesTheBytesThatNumpyWrites) {
  // np.save(file, np.array([1, 2, 3], dtype='<i8'))
  const std::string file = FormatNpy(*ReadRaw("", "INT64", {3}, RawBytes::Of(Raw<int64_t>({1, 2, 3}))));
  std::string expected("\x93NUMPY\x01\x00\x76\x00", 10);
  expected += "{'descr': '<i8', 'fortran_order': False, 'shape': (3,), }";
  expected.append(127 - expected.size(), ' ').append("\n");
  EXPECT_EQ(file, expected + Raw<int64_t>({1, 2, 3}));
}

TEST(NpyTest, WritesBfloat16AsFloatsOfTheSameValue) {
  // 1.5, -2
  const auto tensor = ParseNpy(FormatNpy(*ReadRaw("", "BF16", {2}, RawBytes::Of(Raw<uint16_t>({0x3fc0, 0xc000})))));
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_EQ(BytesOf(*tensor), Raw<float>({1.5, -2}));
}

struct BadFile {
  const char* what;
  std::string file;
  const char* expected;
};

class BadNpyTest : public testing::TestWithParam<BadFile> {};

TEST_P(BadNpyTest, IsRefusedWithAClearMessage) {
  const auto tensor = ParseNpy(GetParam().file);
  ASSERT_FALSE(tensor.ok()) << GetParam().what;
  EXPECT_THAT(std::string(tensor.status().message()), HasSubstr(GetParam().expected)) << GetParam().what;
}

INSTANTIATE_TEST_SUITE_P(
    Files, BadNpyTest,
    testing::Values(
        BadFile{"an empty file", "", "does not begin"}, BadFile{"magic alone", "\x93NUMPY", "cut off"},
        BadFile{"a length beyond the file", std::string("\x93NUMPY\x01\x00\xff\xff{", 11), "header is cut off"},
        BadFile{"a pickle", File("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", "x"), "'|O'"},
        BadFile{"complex numbers",
                File("{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }", Raw<float>({1, 2})), "'<c8'"},
        BadFile{"records", File("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", "1234"),
                "records"},
        BadFile{"too few bytes", File("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", "1234"),
                "expected 8 bytes of data, found 4"},
        BadFile{"a product that overflows",
                File("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }", ""),
                "impossible"},
        BadFile{"a negative size", File("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", ""), "shape"},
        BadFile{"endless strings of no bytes",
                File("{'descr': '|S0', 'fortran_order': False, 'shape': (4611686018427387904,), }", ""), "impossible"},
        BadFile{"a missing key", File("{'descr': '<f4', 'shape': (1,), }", "1234"), "lacks"},
        BadFile{"a second shape",
                File("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'shape': (1,), }", "1234"),
                "unexpected key"}));

}  // namespace
}  // namespace hearth::cli
