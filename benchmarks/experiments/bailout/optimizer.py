"""The pipeline, in the order in which it runs."""

from benchmarks.experiments.bailout.cleanup import CommonSubexpressions, DeadCode, Shapes, assign_states
from benchmarks.experiments.bailout.functionalize import Functionalizer
from benchmarks.experiments.bailout.in_place import write_in_place
from benchmarks.experiments.bailout.plan import Plan
from benchmarks.experiments.bailout.specialize import Specializer


class Optimized:
    """A graph with guards, its memory plan, and what became of the writes. `arguments` are the profiled ones."""

    def __init__(self, program, profile, policy="across", anchors="remaining", break_on_purpose=frozenset()):
        source = Specializer(program.entry, profile, program.seed).graph(program.arguments(0))
        functionalizer = Functionalizer(source, policy, anchors, break_on_purpose)
        self.graph = functionalizer.run()
        self.removed_writes, self.kept_writes = functionalizer.removed_writes, functionalizer.kept_writes
        common = CommonSubexpressions(self.graph, Shapes(self.graph))
        common.run()
        self.guards_removed, self.merged = common.guards_removed, common.merged
        assign_states(self.graph, Shapes(self.graph), break_on_purpose)
        before_states = DeadCode(self.graph, count_states=False).live
        dead = DeadCode(self.graph)
        self.only_for_states = dead.live - before_states
        dead.sweep()
        self.written_in_place = write_in_place(self.graph)
        self.plan = Plan(self.graph, "recipes are no uses" not in break_on_purpose)
