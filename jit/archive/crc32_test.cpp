#include "jit/archive/crc32.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <random>
#include <string>

namespace hearth {
namespace {

uint32_t OfZlib(std::string_view bytes, uint32_t crc) {
  return static_cast<uint32_t>(
      crc32(crc, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())));
}

std::string RandomBytes(size_t size) {
  std::mt19937 random(static_cast<uint32_t>(size));
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

TEST(Crc32, GivesTheCheckValueOfTheStandard) { EXPECT_EQ(Crc32("123456789"), 0xCBF43926u); }

TEST(Crc32, AgreesWithZlibForEverySizeAndAlignment) {
  const std::string bytes = RandomBytes(600);
  for (size_t begin = 0; begin < 20; ++begin) {
    for (size_t size = 0; begin + size <= bytes.size(); ++size) {
      const std::string_view part = std::string_view(bytes).substr(begin, size);
      ASSERT_EQ(Crc32(part), OfZlib(part, 0)) << begin << " " << size;
    }
  }
}

TEST(Crc32, OfAWholeIsThatOfItsSecondPartStartedFromTheFirst) {
  const std::string bytes = RandomBytes(100000);
  const std::string_view view = bytes;
  for (const size_t split : {size_t{0}, size_t{1}, size_t{63}, size_t{64}, size_t{50000}, bytes.size()}) {
    EXPECT_EQ(Crc32(view.substr(split), Crc32(view.substr(0, split))), OfZlib(view, 0));
  }
}

}  // namespace
}  // namespace hearth
