#include "jit/fuser/image/kernel_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace hearth::fuser {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

KernelFile SomeFile() {
  KernelFile file{.key = "hearth 1", .text = "kernel() {\n}\n", .image = KernelImage(), .reason = ""};
  file.image->target = "znver4";
  file.image->kernel_hash = HashOf(file.text);
  file.image->loop_entries = {4};
  file.image->block = std::string(8, '\xc3');
  return file;
}

TEST(KernelFileTest, AFileReadsBackWithAnImageAndWithAReason) {
  EXPECT_EQ(ParseKernelFile(SerializeKernelFile(SomeFile())), SomeFile());
  const KernelFile none{.key = "hearth 1", .text = "kernel() {\n}\n", .image = std::nullopt, .reason = "it crashed"};
  EXPECT_EQ(ParseKernelFile(SerializeKernelFile(none)), none);
}

TEST(KernelFileTest, AFileThatIsCutOffIsRejectedWhereverThatIs) {
  const std::string bytes = SerializeKernelFile(SomeFile());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THROW(ParseKernelFile(bytes.substr(0, size)), ImageError) << size;
  }
  EXPECT_THROW(ParseKernelFile(bytes + "x"), ImageError);
}

TEST(KernelFileTest, AnyChangedBitIsSeen) {
  const std::string bytes = SerializeKernelFile(SomeFile());
  for (size_t i = 0; i < bytes.size() * 8; ++i) {
    std::string changed = bytes;
    changed[i / 8] = static_cast<char>(changed[i / 8] ^ (1 << i % 8));
    EXPECT_THROW(ParseKernelFile(changed), ImageError) << i;
  }
}

TEST(KernelFileTest, TheImageOfAnotherKernelIsRejected) {
  KernelFile file = SomeFile();
  ++file.image->kernel_hash;
  EXPECT_THAT([&] { ParseKernelFile(SerializeKernelFile(file)); },
              ThrowsMessage<ImageError>(HasSubstr("of another kernel")));
}

}  // namespace
}  // namespace hearth::fuser
