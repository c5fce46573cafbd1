from pathlib import Path

import pytest

from server.cli.lengths_file import read_lengths
from server.cli.problem import CommandError, ExitCode


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lengths"


@pytest.mark.parametrize(
    "text",
    [
        "12\n7\n\n 900 \n",
        "12\r\n7\r\n900",
        "[12, 7, 900]",
        "[\n 12,\n 7,\n 900.0\n]",
        "\ufeff12\n7\n900\n",
        "num_tokens\n12\n7\n900\n",
        'id,"num_tokens",text\na,12,"one, two"\nb,7,"over\ntwo lines"\n\nc,900,\n',
        '{"num_tokens": 12}\n{"num_tokens": 7, "id": "b"}\n\n{"num_tokens": 900}\n',
    ],
)
def test_every_form_gives_the_lengths_in_order(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf8", newline="")
    assert read_lengths(path).num_tokens == (12, 7, 900)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "holds no lengths"),
        ("12\n\nabc\n", ":3: 'abc' is not a number of tokens"),
        ("12\n0\n", ":2: '0' is not"),
        ("12\n-4\n", ":2: '-4' is not"),
        ("12\n7.5\n", ":2: '7.5' is not"),
        ("nan\n", ":1: 'nan' is not"),
        ("1e300\n", ":1: '1e300' is not"),
        ("9" * 400, "9…' is not"),
        ("[12, true]", ", entry 1: 'True' is not"),
        ("[12, [7]]", ", entry 1: '[7]' is not"),
        ("[12,\n 7,,]", ":2 is not JSON"),
        ("[]", "holds no lengths"),
        ('{"num_tokens": 12}\n{"tokens": 7}\n', ":2 has no 'num_tokens'"),
        ('{"num_tokens": 12}\n{"num_tokens"\n', ":2 is not JSON"),
        ('{"num_tokens": 12}\n[7]\n', ":2 has no 'num_tokens'"),
        ("id,num_tokens\na,12\nb\n", ":3 has 1 columns; num_tokens is column 2"),
        ("id,num_tokens\na,12\nb,x\n", ":3: 'x' is not"),
        ("id,tokens\na,12\n", ":1: 'id,tokens' is not"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(path: Path, text: str, reason: str) -> None:
    path.write_text(text, encoding="utf8")
    with pytest.raises(CommandError) as caught:
        read_lengths(path)
    assert caught.value.code is ExitCode.BAD_INPUT
    assert reason in caught.value.problem.detail
    assert str(path) in caught.value.problem.detail


def test_a_file_that_is_not_there_or_no_text_is_named(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="There is no file"):
        read_lengths(tmp_path / "none")
    with pytest.raises(CommandError, match="cannot be read"):
        read_lengths(tmp_path)
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CommandError, match="cannot be read"):
        read_lengths(tmp_path / "binary")
