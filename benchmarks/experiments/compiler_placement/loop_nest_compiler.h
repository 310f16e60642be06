// What a background compiler does all day, for benchmarks: fused kernels of many sizes (chains of pointwise steps, rows
// that are reduced and used again, small matrix products; one to four loops deep) emitted as LLVM IR, optimised at O2
// or O3 for this processor, made an object file, linked into the process by ORC's JITLink, called, and dropped.
//
// A seed stands for a module, so that one process may compile what another links. Linked kernels are held against a
// plain evaluation of the same steps: what is measured is a compiler that works. Nothing here is shared between
// threads: a Compiler or a Linker belongs to one. Errors of LLVM and wrong results throw std::runtime_error.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace hearth::benchmarks {

class LoopNestCompiler {
 public:
  // `between_passes` is called before every pass over the IR and once before code is generated from it, but not within
  // code generation, which LLVM does in one go.
  explicit LoopNestCompiler(std::function<void()> between_passes);
  ~LoopNestCompiler();

  // The object file of the module that `seed` stands for.
  std::string Compile(uint64_t seed);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

class LoopNestLinker {
 public:
  LoopNestLinker();
  ~LoopNestLinker();

  // Links the object file of `seed`'s module into this process, calls every kernel once and compares, and takes it out.
  void LinkAndCall(uint64_t seed, const std::string& object);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hearth::benchmarks
