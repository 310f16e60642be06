"""Figures over many programs: guards, states, recipes, writes, memory, and what each policy gains."""

from collections import Counter

from benchmarks.experiments.bailout.cleanup import GUARDS
from benchmarks.experiments.bailout.ir import walk
from benchmarks.experiments.bailout.plan import Plan


WHAT = ("kernels", "traffic", "allocations", "fused kernels", "fused traffic")


def explodes(state):
    """A state explodes if it takes more than twice as many recipe nodes as it restores registers, and eight more."""
    return state.size() > 2 * state.registers() + 8


def spread(numbers):
    numbers = sorted(numbers)
    if not numbers:
        return {}
    at = lambda share: numbers[min(len(numbers) - 1, int(share * len(numbers)))]  # noqa: E731
    return {"mean": round(sum(numbers) / len(numbers), 2), "median": at(0.5), "p99": at(0.99), "max": numbers[-1]}


class Statistics:
    def __init__(self):
        self.counts, self.kinds, self.lists = Counter(), Counter(), {}
        self.policies, self.costs, self.worst = {}, {}, (0, None)

    def note(self, name, number):
        self.lists.setdefault(name, []).append(number)

    def add(self, program, optimized):
        nodes = list(walk(optimized.graph.body))
        bails = [n for n in nodes if n.bail is not None]
        self.counts["programs"] += 1
        self.counts["nodes"] += len(nodes)
        self.counts["writes removed"] += optimized.removed_writes
        self.counts["writes kept"] += optimized.kept_writes
        self.counts["commits"] += sum(n.op in ("commit", "into") for n in nodes)
        self.counts["guards proved"] += optimized.guards_removed
        self.counts["subexpressions shared"] += optimized.merged
        self.counts["nodes kept for states alone"] += len(optimized.only_for_states)
        self.counts["bailout points"] += len(bails)
        self.counts["states"] += len({n.bail for n in bails})
        self.counts["arena elements"] += optimized.plan.total
        self.counts["arena elements, recipes no uses"] += Plan(optimized.graph, count_recipes=False).total
        self.scatters(nodes, optimized)
        self.note("baseline nodes", program.size())
        self.note("nodes", len(nodes))
        for node in bails:
            self.kinds[node.attrs["kind"] if node.op in GUARDS else "operator that may raise"] += 1
            self.add_state(node.bail, program)

    def scatters(self, nodes, optimized):
        """What became of writes to a part of a tensor that are values now."""
        free = Plan(optimized.graph, count_recipes=False).in_place
        for node in nodes:
            if node.op == "into":
                self.counts["commits that write straight into memory"] += 1
            if node.op == "scatter":
                in_place = node in optimized.plan.in_place
                self.counts["scatters over their base" if in_place else "scatters that copy their base"] += 1
                self.counts["scatters that copy for a state alone"] += not in_place and node in free

    def add_state(self, state, program):
        size = state.size()
        self.note("recipe nodes", size)
        self.note("registers", state.registers())
        self.note("frames", len(state.frames))
        self.note("tensors to make", len(state.tensors))
        self.note("lists to make", len(state.lists))
        self.note("writes owed", len(state.writes))
        self.counts["points that owe writes"] += bool(state.writes)
        self.counts["points that explode"] += explodes(state)
        self.counts["points that resume at the entry"] += len(state.frames) == 1 and state.frames[0][1] == 0
        if size > self.worst[0]:
            self.worst = size, program.seed

    def add_policies(self, optimized_by_policy):
        for name, optimized in optimized_by_policy.items():
            nodes = list(walk(optimized.graph.body))
            policy = self.policies.setdefault(name, {"counts": Counter(), "recipe nodes": []})
            counts = policy["counts"]
            counts["writes removed"] += optimized.removed_writes
            counts["writes kept"] += optimized.kept_writes
            counts["commits"] += sum(n.op in ("commit", "into") for n in nodes)
            counts["nodes kept for states alone"] += len(optimized.only_for_states)
            counts["arena elements"] += optimized.plan.total
            for node in nodes:
                if node.bail is not None:
                    counts["bailout points"] += 1
                    counts["points that owe writes"] += bool(node.bail.writes)
                    counts["points that explode"] += explodes(node.bail)
                    policy["recipe nodes"].append(node.bail.size())

    def add_costs(self, costs):
        for name, cost in costs.items():
            self.costs.setdefault(name, Counter()).update(cost)
            self.costs[name]["programs"] += 1
            for what in WHAT:
                self.costs[name][f"programs with more {what} than tier 0"] += cost[what] > costs["baseline"][what]

    def gains(self):
        """Of what "across" saves against the baseline, the share that another policy loses."""
        lost = {}
        for what in WHAT:
            baseline, across = self.costs["baseline"][what], self.costs["across"][what]
            others = {n: c[what] for n, c in self.costs.items() if n not in ("baseline", "across")}
            shares = {f"lost by {n}": round((c - across) / (baseline - across), 3) for n, c in others.items()}
            lost[what] = {"baseline": baseline, "across": across, **shares}
        worse = "programs with more fused traffic than tier 0"
        lost[worse] = {n: c[worse] for n, c in self.costs.items()}
        return {**lost, "programs": self.costs["across"]["programs"]}

    def growth_row(self, scale):
        sizes, points = self.lists["nodes"], self.counts["bailout points"]
        return {
            "scale": scale,
            "programs": self.counts["programs"],
            "nodes": spread(sizes)["mean"],
            "bailout points": round(points / self.counts["programs"], 1),
            "recipe nodes": spread(self.lists["recipe nodes"]),
            "registers": spread(self.lists["registers"])["mean"],
            "exploding share": round(self.counts["points that explode"] / points, 5),
        }

    def figures(self):
        return {
            "counts": dict(self.counts),
            "bailout points by kind": dict(self.kinds),
            "per bailout point or program": {name: spread(numbers) for name, numbers in self.lists.items()},
            "largest state": {"recipe nodes": self.worst[0], "seed": self.worst[1]},
            "policies": {
                name: {**policy["counts"], "recipe nodes": spread(policy["recipe nodes"])}
                for name, policy in self.policies.items()
            },
            "gain": self.gains(),
        }
