"""Hand-made runs of the study of physics."""

from robustirl.paper.studies.physics_runs import PhysicsRecord, PhysicsSpec


def records_of(world, parameter, factor, returns, episodes=16):
    """Return runs of two seeds; a policy that does nothing earns 10, the experts 110 and 210."""
    fixed = {"untrained": (10, 10), "expert": (110, 0), "carried over": (0, 210), "cloned": (10, 10)}
    fixed |= {"randomized": (60, 110)}
    for method, (there, back) in {**fixed, **returns}.items():
        for seed in range(2):
            spec = PhysicsSpec(world, parameter, factor, method, episodes, seed, 1, 1)
            yield PhysicsRecord(spec, float(there), float(back), 0.0, 0.0)
