"""Graphs in files of DIMACS, and what is wrong with some."""

import gzip
import lzma

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


def test_a_graph_with_more_lines_than_it_declares_is_refused_at_the_first_of_them(tmp_path, refused):
    path = tmp_path / "bomb.gr.xz"
    path.write_bytes(lzma.compress(b"p tw 2 1\n1 2\n1 2\n" + b"x\n" * 1000))
    with refused("has more edges than its first line says, 1"):
        envs.read_graph(path)


def test_a_graph_beyond_memory_is_refused_by_the_edges_it_has(tmp_path, monkeypatch, refused):
    path = tmp_path / "bomb.gr.xz"
    path.write_bytes(lzma.compress(b"p tw 2 100000\n" + b"1 2\n" * 100_000))
    monkeypatch.setattr("robustirl._runtime.memory.available_bytes", lambda: 48 * 100_000 - 1)
    with refused("bomb.gr.xz with its 100000 edges needs about", "use a smaller graph"):
        envs.read_graph(path)


def test_lines_end_as_on_any_system_and_are_edges_or_refused(tmp_path, refused):
    path = tmp_path / "a.gr"
    for end in (b"\n", b"\r\n", b"\r"):
        path.write_bytes(end.join([b"c x", b"p tw 3 2", b"", b"e 1 2", b"c y", b"e 2 3"]))
        assert envs.read_graph(path)[0].tolist() == [[0, 1], [1, 2]]
    path.write_text("p tw 3 0\n")
    assert envs.read_graph(path)[0].shape == (0, 2)
    for line in ("1", "1 x", "1 " + "9" * 30):
        path.write_text(f"p tw 3 1\n{line}\n")
        with refused("has a line that is no edge"):
            envs.read_graph(path)
    path.write_bytes("p tw 3 1\n1 é\n".encode())
    with refused("cannot be read (it holds other characters than those of ASCII)"):
        envs.read_graph(path)
