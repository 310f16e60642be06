// The rival of the memory figure: LibTorch alone with one archive loaded and called, waiting to be looked at.
//   libtorch_memory ARCHIVE INPUTS
#include <torch/script.h>

#include <iostream>
#include <string>

#include "jit/archive/saved_value.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: libtorch_memory ARCHIVE INPUTS\n";
    return 2;
  }
  at::NoGradGuard no_grad;
  torch::jit::Module module = torch::jit::load(argv[1]);
  module.eval();
  const auto inputs = hearth::ReadSavedFile(argv[2]).toTupleRef().elements().vec();
  for (int i = 0; i < 5; ++i) module.forward(inputs);
  std::cout << "ready" << std::endl;
  std::string line;
  std::getline(std::cin, line);
}
