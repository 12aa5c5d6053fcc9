"""Graphs in files of DIMACS, and what is wrong with some."""

import gzip

from robustirl import envs


def test_dimacs_files_are_read(tmp_path, refused):
    plain, packed, cut = tmp_path / "a.gr", tmp_path / "b.gr.gz", tmp_path / "c.gr"
    plain.write_text("c roads\np tw 3 2\n1 2\n2 3\n")
    packed.write_bytes(gzip.compress(b"p sp 3 2\na 1 2 803\na 2 3 158\n"))
    cut.write_text("p tw 3 2\n1 2\n")
    for path in (plain, packed):
        edges, nodes = envs.read_graph(path)
        assert (edges.tolist(), nodes) == ([[0, 1], [1, 2]], 3)
    with refused("1 edges", "says 2"):
        envs.read_graph(cut)
    cut.write_text("p tw 3 1\n1 4\n")
    with refused("node 4", "1 to 3"):
        envs.read_graph(cut)
    cut.write_text("p tw 3 2\n1 2\n0 3\n")
    with refused("names node 0", "1 to 3"):
        envs.read_graph(cut)
    for word in ("x", "-1", "9" * 40):
        cut.write_text(f"p tw {word} 1\n1 2\n")
        with refused(f"says '{word[:9]}", "for the number of nodes", "a whole number of at most"):
            envs.read_graph(cut)
    for path, why in ((tmp_path / "none", "(No such file or directory)"), (tmp_path / "d.gz", "(Not a gzipped file")):
        (tmp_path / "d.gz").write_text("p tw 3 2\n")
        with refused(f"{path} cannot be read {why}", "give the path of a DIMACS graph"):
            envs.read_graph(path)
    cut.write_text("1 2\n")
    with refused("does not begin"):
        envs.read_graph(cut)
    cut.write_text("p tw 3 2\ne 1 2\na 2 3 9\n")
    with refused("has lines that begin with 'a, e', but edges are all written in one way"):
        envs.read_graph(cut)
