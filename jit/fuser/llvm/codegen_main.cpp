// hearth-codegen: the compiler of the fuser as a program of its own, so that the daemon need not link LLVM and bounds,
// interrupts and survives it.
//
//   hearth-codegen                                            answers requests until the end of its input
//                                                             (jit/fuser/image/codegen_protocol.h)
//   hearth-codegen --emit=WHAT [--target=T] FILE               compiles one kernel's text and prints a stage of it:
//   loops, llvm,
//                                                             asm or image
#include <unistd.h>

#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "jit/fuser/image/codegen_protocol.h"
#include "jit/fuser/ir/parser.h"
#include "jit/fuser/ir/printer.h"
#include "jit/fuser/ir/verifier.h"
#include "jit/fuser/llvm/generate.h"

namespace hearth::fuser {
namespace {

constexpr char kUsage[] =
    "usage: hearth-codegen [--emit=loops|llvm|asm|image [--target=native|PROCESSOR[,+FEATURE|,-FEATURE]...] FILE]\n"
    "Without --emit: answers requests on standard input until it ends. \"-\" is standard input.\n";

Kernel WellFormed(std::string_view text) {
  Kernel kernel = Parse(text);
  Verify(kernel);
  return kernel;
}

CodegenAnswer Answer(const CodegenRequest& request) {
  try {
    const KernelImage image = Generate(WellFormed(request.kernel), HostTarget::OfText(request.target));
    return {.ok = true, .bytes = SerializeKernelImage(image)};
  } catch (const std::exception& error) {
    return {.ok = false, .bytes = error.what()};
  }
}

int Serve() {
  while (const auto request = ReadRequest(STDIN_FILENO)) WriteAnswer(STDOUT_FILENO, Answer(*request));
  return 0;
}

std::string ReadAll(const std::string& path) {
  if (path == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + ": cannot be read");
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string Emit(std::string_view what, const Kernel& kernel, const HostTarget& target) {
  if (what == "loops") return Print(PrepareForCpu(kernel));
  if (what == "llvm") return GenerateLlvm(kernel, target);
  if (what == "asm") return GenerateAssembly(kernel, target);
  if (what == "image") return SerializeKernelImage(Generate(kernel, target));
  throw std::runtime_error("--emit is loops, llvm, asm or image");
}

int Run(const std::vector<std::string_view>& arguments) {
  if (arguments.empty()) return Serve();
  std::string emit;
  std::string target = "native";
  std::string file;
  for (const std::string_view argument : arguments) {
    if (argument.starts_with("--emit=")) {
      emit = argument.substr(7);
    } else if (argument.starts_with("--target=")) {
      target = argument.substr(9);
    } else if (file.empty() && (argument == "-" || !argument.starts_with("-"))) {
      file = argument;
    } else {
      std::cerr << kUsage;
      return argument == "--help" ? 0 : 2;
    }
  }
  if (emit.empty() || file.empty()) {
    std::cerr << kUsage;
    return 2;
  }
  std::cout << Emit(emit, WellFormed(ReadAll(file)), HostTarget::OfText(target));
  return 0;
}

}  // namespace
}  // namespace hearth::fuser

int main(int argc, char** argv) {
  try {
    return hearth::fuser::Run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << "hearth-codegen: " << error.what() << "\n";
    return 1;
  }
}
