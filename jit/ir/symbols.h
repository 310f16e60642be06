// The node kinds that the interpreter itself defines, and the names of attributes. Everything else is a registered
// operator's name. Interned once at start-up.
#pragma once

#include <ATen/core/interned_strings.h>

namespace hearth::sym {

#define HEARTH_PRIM(id, name) inline const c10::Symbol id = c10::Symbol::fromQualString("prim::" name)
HEARTH_PRIM(kParam, "Param");
HEARTH_PRIM(kReturn, "Return");
HEARTH_PRIM(kConstant, "Constant");  // value: IValue
HEARTH_PRIM(kIf, "If");
HEARTH_PRIM(kLoop, "Loop");
HEARTH_PRIM(kWith, "With");
HEARTH_PRIM(kFork, "fork");
HEARTH_PRIM(kAwaitable, "awaitable");
HEARTH_PRIM(kListConstruct, "ListConstruct");
HEARTH_PRIM(kDictConstruct, "DictConstruct");    // inputs: key, value, key, value, ...
HEARTH_PRIM(kTupleConstruct, "TupleConstruct");  // named tuples too: the output's type has the names
HEARTH_PRIM(kListUnpack, "ListUnpack");          // fails at run time unless the length is the number of outputs
HEARTH_PRIM(kTupleUnpack, "TupleUnpack");
HEARTH_PRIM(kTupleIndex,
            "TupleIndex");  // (tuple, int); the index may be any int value if the elements' types are equal
HEARTH_PRIM(kTupleSlice, "TupleSlice");      // begin, end: int
HEARTH_PRIM(kGetAttr, "GetAttr");            // name: string; (object)
HEARTH_PRIM(kSetAttr, "SetAttr");            // name: string; (object, value)
HEARTH_PRIM(kCreateObject, "CreateObject");  // the output's type is the class
HEARTH_PRIM(kCallFunction, "CallFunction");  // function: torch::jit::Function*
HEARTH_PRIM(kCallMethod, "CallMethod");      // name: string; (object, ...): dispatched on the object's own class
HEARTH_PRIM(kIsInstance, "isinstance");      // types: vector<TypePtr>
HEARTH_PRIM(kUncheckedCast, "unchecked_cast");
HEARTH_PRIM(kUninitialized, "Uninitialized");
HEARTH_PRIM(kToList, "tolist");  // (tensor); the output's type says what to make
HEARTH_PRIM(kRaiseException, "RaiseException");
HEARTH_PRIM(kFrameState, "FrameState");  // anchor: int; (values...): see passes/frame_states.h
HEARTH_PRIM(kGuard, "Guard");            // (bool...): a plan goes on only if all are true, else the baseline does
HEARTH_PRIM(kObserve, "Observe");        // site: int; (value): tells the run's samples what it is
HEARTH_PRIM(kStateStep, "StateStep");    // step: int; here a run takes up and gives back parts of its model's state
// Of passes/plan_memory.h. bytes: int, as it may well be; (int...): takes the run's arena, for these numbers; its block
// says of such numbers which places there are, and returns them.
HEARTH_PRIM(kArena, "Arena");
HEARTH_PRIM(kPlace, "Place");  // (sizes, dtype, place...): in an Arena's block, a place above others
HEARTH_PRIM(kSlot, "Slot");    // place: int; the tensor in that place of the run's arena
#undef HEARTH_PRIM

inline const c10::Symbol kValueAttr = c10::Symbol::attr("value");
inline const c10::Symbol kNameAttr = c10::Symbol::attr("name");
inline const c10::Symbol kStepAttr = c10::Symbol::attr("step");
inline const c10::Symbol kAnchorAttr = c10::Symbol::attr("anchor");
// Of a prim::FrameState: which inputs the baseline may write, though nothing in the plan does; a bit each, the last one
// for all from the 64th on.
inline const c10::Symbol kWrittenAttr = c10::Symbol::attr("written");
// Of a prim::Guard that a profile asked for: what it checks, in words, and the number of the Value that it is about.
inline const c10::Symbol kClaimAttr = c10::Symbol::attr("claim");
inline const c10::Symbol kNumberAttr = c10::Symbol::attr("number");
inline const c10::Symbol kPlaceAttr = c10::Symbol::attr("place");
inline const c10::Symbol kBytesAttr = c10::Symbol::attr("bytes");
inline const c10::Symbol kSiteAttr = c10::Symbol::attr("site");
inline const c10::Symbol kTypesAttr = c10::Symbol::attr("types");
inline const c10::Symbol kFunctionAttr = c10::Symbol::attr("function");
// Of a prim::Loop in which a continue stands under a branch: LibTorch keeps it though it computes nothing.
inline const c10::Symbol kContinuesAttr = c10::Symbol::attr("continues");
inline const c10::Symbol kBeginAttr = c10::Symbol::attr("begin");
inline const c10::Symbol kEndAttr = c10::Symbol::attr("end");
// Of a prim::Constant that was an attribute of a module: the object (IValue) and the slot (int64_t) it was frozen from.
inline const c10::Symbol kInstanceAttr = c10::Symbol::attr("instance");
inline const c10::Symbol kSlotAttr = c10::Symbol::attr("slot");

// An operator of plans (operators/native_convolution.cpp): a convolution whose weight is packed.
inline const c10::Symbol kConvolution = c10::Symbol::fromQualString("hearth::convolution");
inline const c10::Symbol kChannelShuffle = c10::Symbol::fromQualString("hearth::channel_shuffle");
inline const c10::Symbol kGroupScales = c10::Symbol::fromQualString("hearth::group_scales");
inline const c10::Symbol kSpreadChannels = c10::Symbol::fromQualString("hearth::spread_channels");
inline const c10::Symbol kLinear = c10::Symbol::fromQualString("hearth::linear");
inline const c10::Symbol kLeftLinear = c10::Symbol::fromQualString("hearth::left_linear");
inline const c10::Symbol kAddConvolution = c10::Symbol::fromQualString("hearth::add_convolution");

}  // namespace hearth::sym
