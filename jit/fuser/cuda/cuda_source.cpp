#include "jit/fuser/cuda/cuda_source.h"

#include <vector>

#include "jit/fuser/cuda/buffer_accesses.h"
#include "jit/fuser/cuda/buffers_in_cuda.h"
#include "jit/fuser/cuda/device_loops.h"
#include "jit/fuser/cuda/loop_code.h"
#include "jit/fuser/cuda/operations_in_cuda.h"
#include "jit/fuser/cuda/spread_rounds.h"
#include "jit/fuser/cuda/thread_code.h"
#include "jit/fuser/cuda/thread_rounds.h"
#include "jit/fuser/ir/unsupported.h"

namespace hearth::fuser {
namespace {

// Of a kernel's parameters, from compute capability 7.0 on.
constexpr size_t kMostArgumentBytes = 32764;
constexpr size_t kWordBytes = 8;

std::string ArgumentsOf(const Kernel& kernel) {
  const size_t num_outer = kernel.num_inputs() + kernel.num_outputs();
  if ((num_outer + kernel.symbols.size() + 1) * kWordBytes > kMostArgumentBytes) {
    throw Unsupported("no CUDA code for so many buffers and symbols");
  }
  std::string text = "struct Arguments {\n";
  for (BufferId buffer = 0; buffer < num_outer; ++buffer) {
    const bool is_input = kernel.buffers[buffer].kind == BufferKind::kInput;
    text += std::string("  ") + (is_input ? "const " : "") + std::string(MemoryCTypeOf(kernel.buffers[buffer].dtype)) +
            "* " + NameOfBuffer(buffer) + ";\n";
  }
  for (ValueId symbol = 0; symbol < kernel.symbols.size(); ++symbol) {
    text += "  " + std::string(CTypeOf(kernel.symbols[symbol])) + " " + NameOfValue(symbol) + ";\n";
  }
  return text + "  long long rounds;\n};\n";
}

void Need(const Body& body, std::vector<bool>* needed) {
  for (const Statement& statement : body) {
    if (statement.loop == nullptr) {
      for (const ValueId operand : statement.instruction.operands) (*needed)[operand] = true;
      continue;
    }
    const Loop& loop = *statement.loop;
    (*needed)[loop.extent] = true;
    for (const Accumulator& accumulator : loop.accumulators) (*needed)[accumulator.element] = true;
    for (const Carried& carried : loop.carried) (*needed)[carried.initial] = (*needed)[carried.next] = true;
    Need(loop.body, needed);
  }
}

// By value: whether the loop needs it, or what the kernel's top computes for the loop.
std::vector<bool> NeededBy(const Kernel& kernel, const Loop& loop) {
  std::vector<bool> needed(kernel.num_values);
  Need(loop.body, &needed);
  for (const BufferId id : AccessesOf(loop.body).all()) {
    const Buffer& buffer = kernel.buffers[id];
    if (buffer.kind == BufferKind::kLocal) {
      for (const ValueId size : buffer.sizes) needed[size] = true;
    }
    for (const ValueId stride : buffer.strides) needed[stride] = true;
  }
  for (auto statement = kernel.prologue.rbegin(); statement != kernel.prologue.rend(); ++statement) {
    if (!needed[statement->instruction.result]) continue;
    for (const ValueId operand : statement->instruction.operands) needed[operand] = true;
  }
  return needed;
}

// What the loop needs of the kernel's top: symbols, and what is computed of them.
void EmitTopOf(LoopCode& code) {
  const std::vector<bool> needed = NeededBy(code.kernel, code.loop);
  for (ValueId symbol = 0; symbol < code.kernel.symbols.size(); ++symbol) {
    if (!needed[symbol]) continue;
    const std::string type = code.names.TypeOf(symbol);
    const std::string field = "a." + NameOfValue(symbol);
    const bool is_whole = code.names.WidthOf(symbol) == IndexWidth::kWide;
    code.text.Line("const " + type + " " + NameOfValue(symbol) + " = " + (is_whole ? field : "(" + type + ")" + field) +
                   ";");
  }
  for (const Statement& statement : code.kernel.prologue) {
    if (needed[statement.instruction.result]) EmitInstruction(code, statement.instruction, {});
  }
}

std::string FunctionOfLoop(LoopCode code, const std::string& name) {
  code.text.Begin("extern \"C\" __global__ void __launch_bounds__(" + std::to_string(code.device_loop.threads) + ") " +
                  name + "(const Arguments a)");
  EmitTopOf(code);
  if (code.IsOfThreads()) {
    EmitThreadRounds(code);
  } else {
    EmitSpreadRounds(code);
  }
  code.text.End();
  return code.text.Take();
}

}  // namespace

std::string EmitCudaSource(const Kernel& prepared) {
  CudaFunctions functions;
  std::string text = ArgumentsOf(prepared);
  const std::vector<DeviceLoop> device_loops = DeviceLoopsOf(prepared);
  for (size_t index = 0; index < prepared.body.size(); ++index) {
    for (const bool wide : {false, true}) {
      text += "\n" + FunctionOfLoop({.kernel = prepared,
                                     .loop = *prepared.body[index].loop,
                                     .device_loop = device_loops[index],
                                     .wide = wide,
                                     .functions = &functions},
                                    "loop_" + std::to_string(index) + (wide ? "_wide" : ""));
    }
  }
  const std::string definitions = functions.Definitions();
  return definitions.empty() ? text : definitions.substr(1) + "\n" + text;
}

}  // namespace hearth::fuser
