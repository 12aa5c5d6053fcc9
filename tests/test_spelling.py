"""One spelling, the American one, in the code, the tests and the pages."""

import functools
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
STEMS = (
    "normal|initial|minim|maxim|recogn|optim|general|regular|factor|summar|organ|real|penal|discret|linear|parametr"
    "|parameter|vector|serial|special|util|visual|random|stabil|standard|symmetr|quant|character|critic|local|marginal"
    "|amort|equal|final|student|memor|priorit|categor|diagonal|custom"
)
BRITISH = re.compile(
    rf"(?:{STEMS})is(?:e[ds]?|ers?|ing|ations?)(?![a-z])|analys(?:ed|er|ing)(?![a-z])"
    r"|(?:label|model|travel|signal|cancel|level|total|channel)l(?:ed|ing)(?![a-z])"
    r"|learnt|spoilt|burnt|colour|behaviour|neighbour|favour|honour|rigour|labour|centre|metre(?![a-z])|grey|judgement"
    r"|acknowledgement|catalogue|artefact|defence|licence|whilst|programme(?![a-z])",
)
"""Words that are spelled otherwise in American English, wherever they stand in a name."""
KEPT = re.compile(
    r"[\"'`]renormalise[\"'`]|experiments\.catalogue|[\"'`.]normalise|\bnormalise=False|centre=|[\"'`.]centre"
)
"""Names and values of version 0.1 that are still accepted."""
OTHERS = ("tests/reliability/corpus/", "benchmarks/peers/", "src/robustirl/paper/published/", "tests/test_spelling.py")
"""Files of version 0.1, of other libraries and of the paper, and this one."""
TEXT = (".py", ".md", ".js", ".css", ".jinja", ".csv", ".toml", ".yml", ".cff", "Makefile")


@functools.cache
def is_british(word: str) -> bool:
    return BRITISH.search(word) is not None


def british(text: str) -> list[str]:
    """The words of a text that are spelled the British way; a name such as `look.colour` is several words."""
    words = set(re.findall("[a-z]+", KEPT.sub("", text).lower()))  # Each once: that takes a fraction of the time.
    two = ["per cent"] if re.search(r"\bper cent\b", text, re.IGNORECASE) else []
    return sorted(filter(is_british, words)) + two


def test_words_are_spelled_the_american_way():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("this is no checkout: git ls-files lists nothing")
    files = [name for name in listed.stdout.split("\n") if name.endswith(TEXT) and not name.startswith(OTHERS)]
    assert len(files) > 400
    culprits = {
        name: words
        for name in files
        if (ROOT / name).is_file() and (words := british(name) + british((ROOT / name).read_text("utf-8")))
    }
    assert not culprits


def test_the_rule_sees_words_names_and_titles():
    words = ["Learnt", "optimiser", "look.colour", "generalised_advantages", "modelled", "analysing", "normalise"]
    assert [word for word in words if british(word)] == words
    assert british("A colour, 10 per cent of it Grey") == ["colour", "grey", "per cent"]
    assert british("learned, optimizer, color, noise, raised, promise, analyses, otherwise, modeled, premise") == []
