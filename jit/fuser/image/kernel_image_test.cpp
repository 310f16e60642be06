#include "jit/fuser/image/kernel_image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace hearth::fuser {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

KernelImage SomeImage() {
  KernelImage image;
  image.target = "skylake-avx512,-avx512cd";
  image.kernel_hash = 0x0123456789abcdef;
  image.sizes_entry = 16;
  image.loop_entries = {0, 32};
  image.block = std::string(40, '\xc3');
  return image;
}

KernelImage SomeDeviceImage() {
  KernelImage image = SomeImage();
  image.target = "cuda:sm_90";
  image.loop_entries.clear();
  image.device_code =
      "\x7f"
      "ELF of a cubin";
  image.device_loops = {{.threads = 256, .rounds_per_thread = 8},
                        {.threads = 64, .threads_per_round = 64, .alignment = 16, .has_locals_in_registers = true}};
  return image;
}

std::string WithChecksumMended(std::string bytes) {
  const size_t content = bytes.size() - sizeof(uint64_t);
  const uint64_t checksum = HashOf(std::string_view(bytes).substr(0, content));
  std::memcpy(bytes.data() + content, &checksum, sizeof(checksum));
  return bytes;
}

auto Parsing(const std::string& bytes) {
  return [bytes] { ParseKernelImage(bytes); };
}

TEST(KernelImageTest, AnImageReadsBack) {
  EXPECT_EQ(ParseKernelImage(SerializeKernelImage(SomeImage())), SomeImage());
  KernelImage without_loops = SomeImage();
  without_loops.loop_entries.clear();
  without_loops.target.clear();
  EXPECT_EQ(ParseKernelImage(SerializeKernelImage(without_loops)), without_loops);
  EXPECT_EQ(ParseKernelImage(SerializeKernelImage(SomeDeviceImage())), SomeDeviceImage());
}

TEST(KernelImageTest, AnImageThatIsCutOffIsRejectedWhereverThatIs) {
  for (const KernelImage& image : {SomeImage(), SomeDeviceImage()}) {
    const std::string bytes = SerializeKernelImage(image);
    for (size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_THROW(ParseKernelImage(bytes.substr(0, size)), ImageError) << size;
    }
    EXPECT_THAT(Parsing(bytes + "x"), ThrowsMessage<ImageError>(HasSubstr("after its end")));
  }
}

TEST(KernelImageTest, AnyChangedBitIsSeen) {
  const std::string bytes = SerializeKernelImage(SomeImage());
  for (size_t i = 0; i < bytes.size() * 8; ++i) {
    std::string changed = bytes;
    changed[i / 8] = static_cast<char>(changed[i / 8] ^ (1 << i % 8));
    EXPECT_THROW(ParseKernelImage(changed), ImageError) << i;
  }
}

TEST(KernelImageTest, AnEntryOutsideOfTheBlockIsRejected) {
  KernelImage image = SomeImage();
  image.loop_entries[1] = 40;
  EXPECT_THAT(Parsing(SerializeKernelImage(image)), ThrowsMessage<ImageError>(HasSubstr("outside of the block")));
  image = SomeImage();
  image.sizes_entry = 40;
  EXPECT_THAT(Parsing(SerializeKernelImage(image)), ThrowsMessage<ImageError>(HasSubstr("outside of the block")));
  image = SomeImage();
  image.block.clear();
  EXPECT_THAT(Parsing(SerializeKernelImage(image)), ThrowsMessage<ImageError>(HasSubstr("outside of the block")));
}

TEST(KernelImageTest, LengthsThatAreTooLargeAreRejectedBeforeMemoryIsTaken) {
  for (const size_t field : {12, 24, 28, 36, 40, 44}) {
    std::string bytes = SerializeKernelImage(SomeImage());
    const uint32_t large = 0xfffffff0;
    std::memcpy(bytes.data() + field, &large, sizeof(large));
    EXPECT_THAT(Parsing(WithChecksumMended(bytes)), ThrowsMessage<ImageError>(HasSubstr("too large"))) << field;
  }
}

TEST(KernelImageTest, ADeviceLoopThatCannotBeLaunchedIsRejected) {
  for (const uint32_t threads : {0u, 33u, 2048u}) {
    KernelImage image = SomeDeviceImage();
    image.device_loops[1].threads = threads;
    EXPECT_THAT(Parsing(SerializeKernelImage(image)),
                ThrowsMessage<ImageError>(HasSubstr(std::to_string(threads) + " threads")));
  }
  KernelImage image = SomeDeviceImage();
  image.device_loops[1].threads_per_round = 16;
  EXPECT_THAT(Parsing(SerializeKernelImage(image)),
              ThrowsMessage<ImageError>(HasSubstr("has 16 threads of a block's 64")));
  for (const uint32_t rounds : {0u, 2u}) {
    image = SomeDeviceImage();
    image.device_loops[1].rounds_per_thread = rounds;
    EXPECT_THAT(Parsing(SerializeKernelImage(image)),
                ThrowsMessage<ImageError>(HasSubstr("has " + std::to_string(rounds) + " rounds")));
  }
  for (const uint32_t alignment : {0u, 12u, 128u}) {
    image = SomeDeviceImage();
    image.device_loops[1].alignment = alignment;
    EXPECT_THAT(Parsing(SerializeKernelImage(image)),
                ThrowsMessage<ImageError>(HasSubstr("aligned to " + std::to_string(alignment) + " bytes")));
  }
  image = SomeDeviceImage();
  image.device_loops[0].has_locals_in_registers = true;
  EXPECT_THAT(Parsing(SerializeKernelImage(image)), ThrowsMessage<ImageError>(HasSubstr("in registers: 1")));
}

TEST(KernelImageTest, LoopsAreForACpuOrForADevice) {
  KernelImage image = SomeDeviceImage();
  image.loop_entries = {0};
  EXPECT_THAT(Parsing(SerializeKernelImage(image)), ThrowsMessage<ImageError>(HasSubstr("CPU and for a device")));
  image = SomeDeviceImage();
  image.device_code.clear();
  EXPECT_THAT(Parsing(SerializeKernelImage(image)), ThrowsMessage<ImageError>(HasSubstr("CPU and for a device")));
}

TEST(KernelImageTest, AnotherVersionIsRejected) {
  std::string bytes = SerializeKernelImage(SomeImage());
  bytes[8] = 1;
  EXPECT_THAT(Parsing(WithChecksumMended(bytes)), ThrowsMessage<ImageError>(HasSubstr("another version")));
}

}  // namespace
}  // namespace hearth::fuser
