// What the names of Python's own modules mean in TorchScript as people write it: `torch.jit.fork`, `math.sqrt`,
// `torch.linalg.norm`, `torch.float32`. An archive's printed code knows none of these: the printer has put operators'
// names in their place. The mapping is that of torch.jit's table of builtins.
//
// Thread-safe; errors are Unbound results.
#pragma once

#include <ATen/core/ivalue.h>

#include <optional>
#include <string>
#include <string_view>

#include "jit/frontend/operator_table.h"
#include "jit/frontend/sugared_value.h"

namespace hearth {

// A member of a module: a constant, or `value`; an Unbound says why there is none.
struct PythonMember {
  SugaredValue value;
  std::optional<c10::IValue> constant;
};

// What torch.<name> means where that is a number to TorchScript: a dtype, a layout, a memory format.
std::optional<int64_t> FindTorchNumber(std::string_view name);

// What `module.name` means; `module` is a module's full name ("torch.nn.functional"). A module is a NamespaceValue
// without a name.
PythonMember FindPythonMember(std::string_view module, std::string_view name, OperatorTable& operators);

// The qualified name of the class that hearth itself defines for one of torch's (torch.no_grad), or empty.
std::string_view FindLibraryClass(std::string_view dotted);
// The text of the file that holds such classes by its qualified name, "__torch__.torch.autograd.grad_mode"; or empty.
std::string FindLibrarySource(std::string_view qualifier);

}  // namespace hearth
