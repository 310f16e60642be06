// Hands out registers while a Graph is lowered in program order. Registers come in two classes, scalar and general,
// that never mix. A reserved register is given only to who asks for it by name: it is the place where a branch's or a
// loop body's result must end up.
#pragma once

#include <cstdint>
#include <vector>

namespace hearth {

inline constexpr int32_t kNoRegister = -1;

class RegisterAllocator {
 public:
  // Gives `wanted` if it is free and of the class, else the lowest free one that nobody reserved, else a new one.
  int32_t Allocate(bool scalar, int32_t wanted = kNoRegister);
  void Free(int32_t reg) { registers_[reg].busy = false; }
  void Take(int32_t reg) { registers_[reg].busy = true; }
  bool IsFree(int32_t reg) const { return !registers_[reg].busy; }
  bool IsReserved(int32_t reg) const { return registers_[reg].reservations > 0; }
  bool IsScalar(int32_t reg) const { return registers_[reg].scalar; }
  void Reserve(int32_t reg) { ++registers_[reg].reservations; }
  void Unreserve(int32_t reg) { --registers_[reg].reservations; }
  uint32_t size() const { return static_cast<uint32_t>(registers_.size()); }

  // Which registers are busy, to come back to at the start of another branch. Registers made since are free then.
  std::vector<bool> Snapshot() const;
  void Restore(const std::vector<bool>& busy);

 private:
  struct Register {
    bool scalar;
    bool busy;
    int reservations;
  };
  std::vector<Register> registers_;
};

}  // namespace hearth
