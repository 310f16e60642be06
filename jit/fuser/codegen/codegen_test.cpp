// The helper program from outside, as the daemon uses it: build/<preset>/bin/hearth-codegen, over two pipes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "jit/fuser/cuda/nvrtc_testing.h"
#include "jit/fuser/image/codegen_protocol.h"
#include "jit/fuser/image/executable_memory.h"

namespace hearth::fuser {
namespace {

using testing::HasSubstr;

constexpr char kDoubling[] = R"(kernel(%0) {
  %1 = i64 constant 1
  input @0 f32 [%0] strides [%1]
  output @1 f32 [%0] strides [%1]
  parallel %2 < %0 {
    %3 = f32 load @0 [%2]
    %4 = f32 add %3, %3
    store @1 [%2], %4
  }
})";

// The program, beside the test's own.
class Helper {
 public:
  Helper() {
    signal(SIGPIPE, SIG_IGN);
    int in[2];
    int out[2];
    if (pipe(in) != 0 || pipe(out) != 0) throw std::runtime_error("no pipe");
    const std::string program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "hearth-codegen";
    pid_ = fork();
    if (pid_ == 0) {
      dup2(in[0], STDIN_FILENO);
      dup2(out[1], STDOUT_FILENO);
      for (const int fd : {in[0], in[1], out[0], out[1]}) close(fd);
      execl(program.c_str(), program.c_str(), nullptr);
      _exit(127);
    }
    close(in[0]);
    close(out[1]);
    to_ = in[1];
    from_ = out[0];
  }
  ~Helper() {
    if (pid_ > 0) End();
    close(from_);
  }
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;

  int to() const { return to_; }
  pid_t pid() const { return pid_; }

  CodegenAnswer Ask(const std::string& kernel, const std::string& target) {
    WriteRequest(to_, {.kernel = kernel, .target = target});
    return ReadAnswer(from_);
  }

  // Its exit status once its input has ended.
  int End() {
    close(to_);
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_ = -1;
  int to_ = -1;
  int from_ = -1;
};

void ExpectDoubles(const CodegenAnswer& answer) {
  ASSERT_TRUE(answer.ok) << answer.bytes;
  const ExecutableMemory memory(ParseKernelImage(answer.bytes));
  float x[100];
  float y[100] = {};
  for (int i = 0; i < 100; ++i) x[i] = static_cast<float>(i);
  const int64_t symbols[] = {100};
  void* const buffers[] = {x, y};
  memory.loop(0)(buffers, symbols, 0, 100, nullptr);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(y[i], static_cast<float>(2 * i));
}

TEST(CodegenTest, RequestsAreAnsweredOneAfterTheOtherUntilTheInputEnds) {
  Helper helper;
  ExpectDoubles(helper.Ask(kDoubling, "native"));
  ExpectDoubles(helper.Ask(kDoubling, "x86-64"));
  EXPECT_EQ(helper.End(), 0);
}

TEST(CodegenTest, AnErrorIsAnAnswerAndTheNextRequestIsAnswered) {
  Helper helper;
  const auto error_of = [&](const std::string& kernel, const std::string& target) {
    const CodegenAnswer answer = helper.Ask(kernel, target);
    EXPECT_FALSE(answer.ok);
    return answer.bytes;
  };
  EXPECT_THAT(error_of("kernel(%0) {", "native"), HasSubstr("1:13"));
  // The buffer is stored to at an index of another dtype.
  std::string malformed = kDoubling;
  malformed.replace(malformed.find("@1 [%2]"), 7, "@1 [%4]");
  EXPECT_THAT(error_of(malformed, "native"), HasSubstr("store"));
  EXPECT_THAT(error_of(kDoubling, "z80"), HasSubstr("z80"));
  EXPECT_THAT(error_of(kDoubling, "x86-64,+no-such-thing"), HasSubstr("+no-such-thing"));
  EXPECT_THAT(error_of(kDoubling, "i686"), HasSubstr("i686"));
  ExpectDoubles(helper.Ask(kDoubling, "native"));
  EXPECT_EQ(helper.End(), 0);
}

TEST(CodegenTest, ItsMemoryIsBounded) {
#if defined(__SANITIZE_ADDRESS__) || defined(HEARTH_THREAD_SANITIZER)
  GTEST_SKIP() << "a sanitizer's own memory is larger than the bound";
#endif
  Helper helper;
  ExpectDoubles(helper.Ask(kDoubling, "native"));
  rlimit limit{};
  ASSERT_EQ(prlimit(helper.pid(), RLIMIT_DATA, nullptr, &limit), 0);
  EXPECT_EQ(limit.rlim_cur, rlim_t{2} << 30);
  EXPECT_EQ(limit.rlim_max, rlim_t{2} << 30);
}

TEST(CodegenTest, WhatThereIsNoCodeForIsNamed) {
  std::string fma = kDoubling;
  fma.replace(fma.find("add %3, %3"), 10, "fma %3, %3, %3");
  Helper helper;
  EXPECT_EQ(helper.Ask(fma, "x86-64").bytes, "no code for fma of f32");
  EXPECT_TRUE(helper.Ask(fma, "x86-64-v3").ok);
}

TEST(CodegenTest, KernelsForAGpuAreMadeBesideThoseForACpu) {
  const std::string problem = ProblemWithNvrtc();
  if (!problem.empty()) GTEST_SKIP() << problem;
  Helper helper;
  for (int i = 0; i < 3; ++i) {
    const CodegenAnswer answer = helper.Ask(kDoubling, "cuda:sm_90");
    ASSERT_TRUE(answer.ok) << answer.bytes;
    const KernelImage image = ParseKernelImage(answer.bytes);
    EXPECT_EQ(image.target, "cuda:sm_90");
    EXPECT_THAT(image.device_code, HasSubstr("loop_0_wide"));
    EXPECT_THAT(image.device_loops, testing::ElementsAre(DeviceLoop{.threads = 256, .rounds_per_thread = 4}));
    const int64_t symbols[] = {1000};
    int64_t sizes[kSizesPerLoop];
    ExecutableMemory(image).sizes()(symbols, sizes);
    EXPECT_EQ(sizes[0], 1000);
    ExpectDoubles(helper.Ask(kDoubling, "native"));
  }
  EXPECT_THAT(helper.Ask(kDoubling, "cuda:sm_20").bytes, HasSubstr("cuda:sm_20"));
  EXPECT_EQ(helper.End(), 0);
}

// Were it an answer, the kernel would be set aside for good.
TEST(CodegenTest, WhereThereIsNoNvrtcItEnds) {
  const char* before = std::getenv("HEARTH_NVRTC");
  const std::string kept = before == nullptr ? "" : before;
  setenv("HEARTH_NVRTC", "/nowhere", /*overwrite=*/1);
  Helper helper;
  setenv("HEARTH_NVRTC", kept.c_str(), /*overwrite=*/1);
  ExpectDoubles(helper.Ask(kDoubling, "native"));
  EXPECT_ANY_THROW(helper.Ask(kDoubling, "cuda:sm_90"));
  EXPECT_EQ(helper.End(), 1);
}

TEST(CodegenTest, AMalformedFrameEndsTheHelperWithAnError) {
  Helper helper;
  ASSERT_EQ(write(helper.to(), "no frame at all", 15), 15);
  EXPECT_EQ(helper.End(), 1);
}

}  // namespace
}  // namespace hearth::fuser
