"""A Ray cluster of three nodes on this machine, in a process of its own: a head that computes nothing, and two that do.

Prints its address, kills a node for every line it is given, and ends with its input.
"""

import os
import sys

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"


def main() -> None:
    """Start, obey, end."""
    # Here, because this file is collected where Ray is not installed, too.
    from ray.cluster_utils import Cluster  # pyright: ignore[reportMissingImports]

    memory = 100 * 2**20
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "object_store_memory": memory})
    nodes = [cluster.add_node(num_cpus=1, object_store_memory=memory) for _ in range(2)]
    cluster.wait_for_nodes()
    print(cluster.address, flush=True)
    for _ in sys.stdin:
        cluster.remove_node(nodes.pop(), allow_graceful=False)
        print("killed", flush=True)
    cluster.shutdown()


if __name__ == "__main__":
    main()
