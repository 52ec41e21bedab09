"""YAML that DVC or a person may write and that cannot be meant: one line, quickly, with the number of the line."""

import time

import pytest
from ruamel.yaml import YAML

from perlayer.errors import UserError
from perlayer.plain_yaml import read_yaml

BILLIONS = "a0: &a0 [x, x, x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}, *a{i - 1}]\n" for i in range(1, 20))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        # what YAML knows and params have no use for
        (
            "a: 1\nb: !!python/object:os.system {}",
            "line 2: expected a text, a number, .*, found !!python/object:os",
        ),
        ("a: 2001-01-01", "line 1: expected a text, a number, .*, found !!timestamp '2001-01-01'"),
        ("a: 2001-13-45", "line 1: expected .*, found !!timestamp '2001-13-45'"),
        ("a: !!timestamp 2001-99-99", "line 1: expected .*, found !!timestamp"),
        ("a: !!binary aGVsbG8=", "line 1: expected .*, found !!binary 'aGVsbG8='"),
        ("a: !!set {b}", "line 1: expected .*, found !!set"),
        ("a: !!omap [b: 1]", "line 1: expected .*, found !!omap"),
        ("a: !mine 3", "line 1: expected .*, found !mine '3'"),
        ("a: {[1, 2]: 3}", "line 1: expected a text as a key, found !!seq"),
        ("a:\n  3: b", "line 2: expected a text as a key, found !!int '3'"),
        # values that their tags do not allow
        ("a: !!int x", "line 1: expected a value that its tag allows, found !!int 'x'"),
        ("a: !!float x", "line 1: expected a value .*, found !!float 'x'"),
        ("a: !!bool x", "line 1: expected a value .*, found !!bool 'x'"),
        ('a: !!int ""', "line 1: expected a value .*, found !!int ''"),
        # more than anything holds
        (f"a: {'1' * 10_000}", "line 1: expected a number of at most 100 characters, found !!int '111"),
        (f"a: 0x{'f' * 10_000}", "line 1: expected a number of at most 100 characters"),
        (f"a: {'1' * 10_000}.5", "line 1: expected a number of at most 100 characters, found !!float"),
        ("a: &a [*a]", "line 1: expected a value that does not hold itself"),
        ("a: &a\n  b: &b {c: *a, d: *b}", "line 2: expected a value that does not hold itself"),
        (BILLIONS, "line 11: expected at most 100,000 values"),
        ("a: " + "[" * 60 + "]" * 60, "line 1: expected at most 50 levels"),
        ("".join(f"{' ' * i}a:\n" for i in range(600)), "line 51: expected at most 50 levels"),
        # characters
        ('a: "\\0"', r"line 1: expected a text without U\+0000 and lone surrogates, found !!str '\\x00'"),
        ('a: "\\ud800"', "line 1: not valid YAML: .* invalid Unicode character escape code"),
        ('a: "\\U00110000"', "line 1: not valid YAML: "),
        ("a: 1\nb: \0", r"line 2: not valid YAML: the character U\+0000"),
        ("a: 1\n".encode("utf-16"), "line 1: expected UTF-8, found invalid start byte"),
        ("a: 1\nb: é\n".encode("latin-1"), "line 2: expected UTF-8, found "),
        # the rest of what is no YAML
        ("a: 1\nb: [", "line 3: not valid YAML: "),
        ("a: *b", "line 1: not valid YAML: found undefined alias 'b'"),
        ("a: 1\n---\nb: 1", "line 2: not valid YAML: expected a single document"),
        ("a: {<<: 3}", "line 1: not valid YAML: .*expected a mapping or list of mappings for merging"),
    ],
)
def test_what_cannot_be_meant_is_one_line(text, said, tmp_path, capfd):
    path = tmp_path / "some.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    start = time.monotonic()
    with pytest.raises(UserError, match=f"^{path}: {said}") as error:
        read_yaml(path)
    assert "\n" not in str(error.value) and len(str(error.value)) < 500
    assert time.monotonic() - start < 5
    assert capfd.readouterr() == ("", "")


def test_what_is_plain_is_read_without_a_word(tmp_path, capfd):
    path = tmp_path / "some.yaml"
    text = "\ufeffa: &a {b: 1, c: [1.5, true, null, text]}\nd: {<<: *a, b: 2}\ne: [*a, &f 1, &f 2, *f]\n"
    path.write_bytes(text.encode())
    a = {"b": 1, "c": [1.5, True, None, "text"]}
    assert read_yaml(path) == {"a": a, "d": {**a, "b": 2}, "e": [a, 1, 2, 2]}
    assert capfd.readouterr() == ("", "")


# What YAML 1.1 and 1.2 read differently, and the like: as DVC has it, by ruamel.yaml, which is not ours.
SCALARS = """1e-3 1e3 1.e3 1.5e-3 -1e-05 1e+20 +.5 .5e+3 .5e3 1. -.inf .NaN .inf +.inf inf nan off yes on n y True TRUE
tRUE null Null ~ nULL 0o17 0o8 0o 017 08 -017 -0o17 0x1F +0x1f 0x 0b101 0b2 0b_1 1_000 _1 _ +1 -0 00 0_ 1__0 1:30
1:30.5 190:20:30 1e e1 --1 0.1.2 12e03 '' "off" '1e-3'"""


@pytest.mark.parametrize("scalar", SCALARS.split())
def test_a_scalar_is_what_dvc_reads(scalar, tmp_path):
    path = tmp_path / "some.yaml"
    path.write_text(f"a: {scalar}\n")
    expected = YAML(typ="safe", pure=True).load(path.read_text())
    assert repr(read_yaml(path)) == repr(expected)
