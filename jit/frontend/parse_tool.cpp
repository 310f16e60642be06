// hearth-parse: prints the syntax tree of each file named on the command line, as tree_printer.h describes it, with
// byte ranges. A file that does not parse prints its error behind "error: ". After each file comes a line "---". With
// --time it prints instead how fast the files parse.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "jit/frontend/parser.h"
#include "jit/frontend/tree_printer.h"
#include "jit/support/errors.h"

namespace hearth {
namespace {

void PrintFile(const std::shared_ptr<const Source>& source) {
  try {
    std::cout << PrintTree(*ParseFile(source), tree::PrintRanges::kYes);
  } catch (const CompileError& error) {
    std::cout << "error: " << error.what();
  }
  std::cout << "---\n";
}

void Time(const std::vector<std::shared_ptr<const Source>>& sources) {
  using Clock = std::chrono::steady_clock;
  size_t bytes = 0;
  for (const auto& source : sources) bytes += source->text().size();
  double best = 0;
  for (int round = 0; round < 10; ++round) {
    const auto start = Clock::now();
    for (const auto& source : sources) ParseFile(source);
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    best = std::max(best, static_cast<double>(bytes) / 1e6 / seconds);
  }
  std::printf("%zu files, %.3f MB: %.1f MB/s\n", sources.size(), static_cast<double>(bytes) / 1e6, best);
}

int Main(int argc, char** argv) {
  bool time = false;
  std::vector<std::shared_ptr<const Source>> sources;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--time") {
      time = true;
      continue;
    }
    std::ifstream file(argv[i], std::ios::binary);
    if (!file) {
      std::cerr << "hearth-parse: cannot read " << argv[i] << "\n";
      return 2;
    }
    std::string text{std::istreambuf_iterator<char>(file), {}};
    sources.push_back(std::make_shared<const Source>(std::move(text), argv[i]));
  }
  if (time) {
    Time(sources);
  } else {
    for (const auto& source : sources) PrintFile(source);
  }
  return 0;
}

}  // namespace
}  // namespace hearth

int main(int argc, char** argv) { return hearth::Main(argc, argv); }
