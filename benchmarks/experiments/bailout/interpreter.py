"""Tier 0: register code with a pc, lowered from structured SSA, and its interpreter.

A run is a stack of Frames (function, pc, registers), so a run can begin in the middle: that is all that a bailout
needs. The code also knows which registers are live before each instruction; a FrameState names these and no others."""

from collections import Counter

from benchmarks.experiments.bailout.ir import EFFECTS, VIEWS, ModelError, Value, act, compute


class Code:
    """Instructions: (op, inputs, outputs, attrs, target). A register is a Value's id.

    moves    parallel moves            jump / jump_if_false   to target
    loop     leaves to target unless number < trip count and condition (its inputs)
    """

    def __init__(self, function):
        self.function = function
        self.instructions = []
        self.body(function.body)
        self.emit("return", function.body.returns, [])
        self.live = self.liveness()

    def emit(self, op, inputs, outputs, attrs=None, target=None):
        self.instructions.append([op, [i.id for i in inputs], [o.id for o in outputs], attrs or {}, target])
        return len(self.instructions) - 1

    @property
    def next(self):
        return len(self.instructions)

    def body(self, block):
        for node in block.nodes:
            node.pc = self.next
            if node.op == "if":
                self.lower_if(node)
            elif node.op == "loop":
                self.lower_loop(node)
            else:
                self.emit(node.op, node.inputs, node.outputs, node.attrs)

    def lower_if(self, node):
        to_else = self.emit("jump_if_false", node.inputs, [], {"profile": node.pc})
        self.body(node.blocks[0])
        self.emit("moves", node.blocks[0].returns, node.outputs)
        to_end = self.emit("jump", [], [])
        self.instructions[to_else][4] = self.next
        self.body(node.blocks[1])
        self.emit("moves", node.blocks[1].returns, node.outputs)
        self.instructions[to_end][4] = self.next
        node.attrs["places"] = {"end": self.next}

    def lower_loop(self, node):
        block = node.blocks[0]
        number, condition, one = block.params[0], Value("bool"), Value("int")
        limit = node.inputs[1]
        self.emit("const", [], [one], {"value": 1})
        self.emit("moves", [node.inputs[0], *node.inputs[2:]], [number, condition, *block.params[1:]])
        head = self.emit("loop", [number, limit, condition], [], {"profile": node.pc})
        self.body(block)
        self.emit("moves", block.returns, [condition, *block.params[1:]])
        self.emit("iadd", [number, one], [number])
        self.emit("jump", [], [], {"back": True}, head)
        self.instructions[head][4] = self.next
        self.emit("moves", block.params[1:], node.outputs)
        node.attrs["places"] = {"head": head, "end": self.next, "condition": condition, "one": one}

    def successors(self, pc):
        op, _, _, _, target = self.instructions[pc]
        if op == "return":
            return []
        if op == "jump":
            return [target]
        return [pc + 1, target] if target is not None else [pc + 1]

    def liveness(self):
        live = [frozenset()] * self.next
        changed = True
        while changed:
            changed = False
            for pc in reversed(range(self.next)):
                _, inputs, outputs, _, _ = self.instructions[pc]
                after = frozenset().union(*(live[s] for s in self.successors(pc)))
                now = (after - frozenset(outputs)) | frozenset(inputs)
                if now != live[pc]:
                    live[pc], changed = now, True
        return live

    def live_after_call(self, pc):
        """The registers of a frame that are needed when the call at pc has come back, without the call's results."""
        return self.live[pc + 1] - frozenset(self.instructions[pc][2])


def code_of(function):
    if function.code is None:
        function.code = Code(function)
    return function.code


class Frame:
    __slots__ = ("function", "pc", "registers")

    def __init__(self, function, pc, registers):
        self.function, self.pc, self.registers = function, pc, registers


class Profile:
    """What tier 0 saw: branch directions, trip counts."""

    def __init__(self):
        self.branches = Counter()  # (function, pc, direction)
        self.trips = {}  # (function, pc) -> set of trip counts

    def direction(self, function, pc):
        """True or False if only one was seen, else None."""
        seen = [d for d in (True, False) if self.branches[function.name, pc, d]]
        return seen[0] if len(seen) == 1 else None


def call(function, arguments, run, profile=None):
    registers = dict(zip((p.id for p in function.body.params), arguments, strict=True))
    return resume([Frame(function, 0, registers)], run, profile)


def resume(frames, run, profile=None):
    """Runs from the innermost frame's pc until the outermost returns; gives its results."""
    try:
        return interpret(frames, run, profile)
    except ModelError as error:
        if error.trace is None:
            error.trace = [(f.function.name, f.pc) for f in frames]
        raise


def interpret(frames, run, profile):
    while True:
        frame = frames[-1]
        code = code_of(frame.function)
        instructions, registers = code.instructions, frame.registers
        while True:
            op, inputs, outputs, attrs, target = instructions[frame.pc]
            values = [registers[i] for i in inputs]
            if op == "return":
                frames.pop()
                if not frames:
                    return values
                caller = frames[-1]
                results = code_of(caller.function).instructions[caller.pc][2]
                caller.registers.update(zip(results, values, strict=True))
                caller.pc += 1
                break
            if op == "call":
                callee = attrs["function"]
                frames.append(Frame(callee, 0, dict(zip((p.id for p in callee.body.params), values, strict=True))))
                break
            if op == "jump":
                frame.pc = target
                continue
            if op in ("jump_if_false", "loop"):
                go_on = values[0] if op == "jump_if_false" else values[0] < values[1] and values[2]
                if profile is not None:
                    note(profile, frame, op, values, go_on, attrs["profile"])
                frame.pc = frame.pc + 1 if go_on else target
                continue
            if op == "moves":
                registers.update(zip(outputs, values, strict=True))
            elif op in EFFECTS:
                result = act(op, values, attrs, run)
                if outputs:
                    registers[outputs[0]] = result
            else:
                registers[outputs[0]] = compute(op, values, attrs)
            frame.pc += 1


def note(profile, frame, op, values, go_on, place):
    if op == "jump_if_false":
        profile.branches[frame.function.name, place, bool(go_on)] += 1
    elif not go_on:
        profile.trips.setdefault((frame.function.name, place), set()).add(values[0])


__all__ = ["VIEWS", "Code", "Frame", "Profile", "call", "code_of", "resume"]
