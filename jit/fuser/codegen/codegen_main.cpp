// hearth-codegen: the compiler of the fuser as a program of its own, so that the daemon does without LLVM and bounds,
// interrupts and survives it. Without arguments it answers requests until the end of its input
// (image/codegen_protocol.h); with a file, it shows what becomes of one kernel.
#include <CLI/CLI.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>

#include "jit/fuser/codegen/codegen.h"
#include "jit/fuser/cuda/nvrtc.h"
#include "jit/fuser/image/codegen_protocol.h"
#include "jit/fuser/ir/parser.h"
#include "jit/fuser/ir/printer.h"
#include "jit/fuser/ir/verifier.h"
#include "jit/support/version.h"

namespace hearth::fuser {
namespace {

// More than any kernel takes to compile by far.
constexpr rlim_t kMostBytes = rlim_t{2} << 30;

Kernel WellFormed(std::string_view text) {
  Kernel kernel = Parse(text);
  Verify(kernel);
  return kernel;
}

CodegenAnswer Answer(const CodegenRequest& request) {
  try {
    const KernelImage image = GenerateFor(WellFormed(request.kernel), request.target);
    return {.ok = true, .bytes = SerializeKernelImage(image)};
  } catch (const NvrtcMissing&) {
    // Ends the program, so that the kernel is not set aside for it.
    throw;
  } catch (const std::exception& error) {
    return {.ok = false, .bytes = error.what()};
  }
}

void Serve() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(HEARTH_THREAD_SANITIZER)
  // A sanitizer's books of every byte are larger than that.
  const rlimit limit{kMostBytes, kMostBytes};
  setrlimit(RLIMIT_DATA, &limit);
#endif
  while (const auto request = ReadRequest(STDIN_FILENO)) WriteAnswer(STDOUT_FILENO, Answer(*request));
}

std::string ReadAll(const std::string& path) {
  if (path == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + ": cannot be read");
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace
}  // namespace hearth::fuser

int main(int argc, char** argv) {
  std::string emit = "asm", target = "native", file;
  CLI::App app{"Makes machine code of kernels. Without a file: answers hearthd on standard input until that ends."};
  app.set_version_flag("--version", std::string("hearth-codegen ") + hearth::kVersion);
  app.add_option("file", file, "a kernel's loop IR; - is standard input");
  app.add_option("--emit", emit, "what to print of it: loops, llvm, asm, cuda, or the image that hearthd loads")
      ->check(CLI::IsMember({"loops", "llvm", "asm", "cuda", "image"}))
      ->capture_default_str();
  app.add_option("--target", target,
                 "native, or a processor as LLVM names it, with features: x86-64-v3,+avx512f; a GPU: cuda:sm_90")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    using namespace hearth::fuser;
    if (file.empty()) {
      Serve();
    } else {
      std::cout << Show(emit, WellFormed(ReadAll(file)), target);
    }
  } catch (const std::exception& error) {
    std::cerr << "hearth-codegen: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
