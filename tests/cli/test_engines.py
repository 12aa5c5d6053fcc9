"""Where runs take place: processes of this machine, or a Ray cluster."""

from robustirl.cli import engines
from robustirl.sweeps import RayEngine


def test_processes_are_of_this_machine_and_addresses_are_of_ray(refused):
    assert engines.engine_of(engines.Where(workers=1)) is None
    ray = engines.engine_of(engines.Where("ray", "10.0.0.1:6379"))
    assert isinstance(ray, RayEngine)
    assert ray.address == "10.0.0.1:6379"
    with refused("--workers is 0"):
        engines.engine_of(engines.Where(workers=0))
    with refused("--address is 'x:1', but only Ray has one"):
        engines.engine_of(engines.Where(address="x:1"))
    with refused("--workers is 2, but a Ray cluster has its own number of workers"):
        engines.engine_of(engines.Where("ray", workers=2))
