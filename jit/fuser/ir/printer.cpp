#include "jit/fuser/ir/printer.h"

#include <charconv>
#include <cmath>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace hearth::fuser {
namespace {

class Printer {
 public:
  std::string Take() { return std::move(text_); }

  void WriteKernel(const Kernel& kernel) {
    text_ += "kernel(";
    for (size_t i = 0; i < kernel.symbols.size(); ++i) {
      if (i > 0) text_ += ", ";
      WriteValue(static_cast<ValueId>(i));
      if (kernel.symbols[i] == Dtype::kFloat64) text_ += " f64";
    }
    text_ += ") {\n";
    WriteBody(kernel.prologue, 1);
    for (size_t i = 0; i < kernel.buffers.size(); ++i) WriteBuffer(kernel.buffers[i], static_cast<BufferId>(i));
    WriteBody(kernel.body, 1);
    text_ += "}\n";
  }

  void WriteHead(const Statement& statement) {
    if (statement.loop != nullptr) {
      WriteLoopHead(*statement.loop);
    } else {
      WriteInstruction(statement.instruction);
    }
  }

 private:
  void Indent(int depth) { text_.append(2 * static_cast<size_t>(depth), ' '); }

  void WriteValue(ValueId value) {
    if (value == kNoValue) {
      text_ += "%none";
    } else {
      text_ += '%' + std::to_string(value);
    }
  }

  void WriteValues(std::span<const ValueId> values) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (i > 0) text_ += ", ";
      WriteValue(values[i]);
    }
  }

  void WriteList(std::span<const ValueId> values) {
    text_ += " [";
    WriteValues(values);
    text_ += ']';
  }

  void WriteBufferId(BufferId buffer) { text_ += " @" + std::to_string(buffer); }

  void WriteBuffer(const Buffer& buffer, BufferId number) {
    constexpr std::string_view kNames[] = {"input", "output", "local"};
    Indent(1);
    text_ += kNames[static_cast<size_t>(buffer.kind)];
    WriteBufferId(number);
    text_ += ' ';
    text_ += NameOf(buffer.dtype);
    WriteList(buffer.sizes);
    if (buffer.kind != BufferKind::kLocal) {
      text_ += " strides";
      WriteList(buffer.strides);
    }
    text_ += '\n';
  }

  void WriteBody(const Body& body, int depth) {
    for (const Statement& statement : body) {
      Indent(depth);
      WriteHead(statement);
      text_ += '\n';
      if (statement.loop == nullptr) continue;
      WriteBody(statement.loop->body, depth + 1);
      WriteYield(*statement.loop, depth + 1);
      Indent(depth);
      text_ += "}\n";
    }
  }

  void WriteInstruction(const Instruction& instruction) {
    const std::span<const ValueId> operands = instruction.operands;
    if (instruction.opcode == Opcode::kStore) {
      text_ += "store";
      WriteBufferId(instruction.buffer);
      WriteList(operands.empty() ? operands : operands.subspan(1));
      text_ += ", ";
      WriteValue(operands.empty() ? kNoValue : operands[0]);
      return;
    }
    WriteValue(instruction.result);
    text_ += " = ";
    text_ += NameOf(instruction.dtype);
    text_ += ' ';
    text_ += InfoOf(instruction.opcode).name;
    switch (instruction.opcode) {
      case Opcode::kConstant:
        WriteLiteral(instruction);
        return;
      case Opcode::kLoad:
        WriteBufferId(instruction.buffer);
        WriteList(operands);
        return;
      case Opcode::kLoadIf:
        text_ += ' ';
        WriteValue(operands.empty() ? kNoValue : operands[0]);
        text_ += ',';
        WriteBufferId(instruction.buffer);
        WriteList(operands.empty() ? operands : operands.subspan(1));
        return;
      default:
        text_ += ' ';
        WriteValues(operands);
    }
  }

  void WriteLiteral(const Instruction& constant) {
    text_ += ' ';
    if (constant.dtype == Dtype::kBool) {
      text_ += constant.integer != 0 ? "true" : "false";
    } else if (!IsFloating(constant.dtype)) {
      text_ += std::to_string(constant.integer);
    } else if (std::isnan(constant.real)) {
      text_ += "nan";
    } else if (std::isinf(constant.real)) {
      text_ += constant.real < 0 ? "-inf" : "inf";
    } else {
      char digits[64];
      // A half is written as the float that it is: its own shortest form would need a parser of its own.
      const auto end = constant.dtype == Dtype::kFloat64
                           ? std::to_chars(digits, digits + sizeof digits, constant.real)
                           : std::to_chars(digits, digits + sizeof digits, static_cast<float>(constant.real));
      text_.append(digits, end.ptr);
    }
  }

  void WriteLoopHead(const Loop& loop) {
    constexpr std::string_view kNames[] = {"parallel", "reduce", "sequential"};
    std::vector<ValueId> results;
    for (const Accumulator& accumulator : loop.accumulators) results.push_back(accumulator.result);
    for (const Carried& carried : loop.carried) results.push_back(carried.result);
    if (!results.empty()) {
      WriteValues(results);
      text_ += " = ";
    }
    text_ += kNames[static_cast<size_t>(loop.kind)];
    text_ += ' ';
    WriteValue(loop.index);
    text_ += " < ";
    WriteValue(loop.extent);
    for (size_t i = 0; i < loop.carried.size(); ++i) {
      text_ += i == 0 ? " (" : ", ";
      WriteValue(loop.carried[i].value);
      text_ += " = ";
      WriteValue(loop.carried[i].initial);
    }
    text_ += loop.carried.empty() ? " {" : ") {";
  }

  void WriteYield(const Loop& loop, int depth) {
    if (loop.accumulators.empty() && loop.carried.empty()) return;
    Indent(depth);
    text_ += "yield";
    std::string_view separator = " ";
    for (const Accumulator& accumulator : loop.accumulators) {
      text_ += separator;
      text_ += NameOf(accumulator.reduction);
      text_ += ' ';
      WriteValue(accumulator.element);
      separator = ", ";
    }
    for (const Carried& carried : loop.carried) {
      text_ += separator;
      WriteValue(carried.next);
      separator = ", ";
    }
    text_ += '\n';
  }

  std::string text_;
};

}  // namespace

std::string Print(const Kernel& kernel) {
  Printer printer;
  printer.WriteKernel(kernel);
  return printer.Take();
}

std::string Print(const Statement& statement) {
  Printer printer;
  printer.WriteHead(statement);
  return printer.Take();
}

}  // namespace hearth::fuser
