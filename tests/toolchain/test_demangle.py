"""Names of symbols: the machine's C++ runtime and the pure parser agree on what kernels are called."""

import gzip
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpwise.server.toolchain import demangle as module
from warpwise.server.toolchain.demangle import demangle, in_text, short_name

RECORDED = Path(__file__).parents[1] / "recordings" / "compilers.json.gz"
NAMES = {
    "_Z5scalePfi": "scale(float*, int)",
    "_Z10gemm_tiledPKfS0_Pfi": "gemm_tiled(float const*, float const*, float*, int)",
    "_Z4pickILi4EEvPf": "pick<4>(float*)",
    "_Z4pickILj4ELb1ELln3EEvPf": "pick<4u, true, -3l>(float*)",
    "_ZN2ns1kI6__halfLi3ELb0EEEvPT_PKS2_m": "ns::k<__half, 3, false>(__half*, __half const*, unsigned long)",
    "_ZN12_GLOBAL__N_15scaleEPf": "(anonymous namespace)::scale(float*)",
    "_Z1kPFffE": "k(float (*)(float))",
    "_Z5scaleN4dim3E6float4": "scale(dim3, float4)",
}


@pytest.fixture
def without_runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine without libstdc++."""
    monkeypatch.setattr(module, "_native", lambda: None)
    demangle.cache_clear()


@pytest.fixture(autouse=True)
def _forget() -> None:
    demangle.cache_clear()


@pytest.mark.parametrize(("symbol", "name"), NAMES.items())
def test_a_symbol_has_its_name(symbol: str, name: str) -> None:
    assert demangle(symbol) == name


@pytest.mark.usefixtures("without_runtime")
@pytest.mark.parametrize(("symbol", "name"), NAMES.items())
def test_a_symbol_has_the_same_name_without_the_runtime(symbol: str, name: str) -> None:
    assert demangle(symbol) == name


def test_both_agree_on_every_symbol_that_the_compilers_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    logs: dict[str, str] = json.loads(gzip.decompress(RECORDED.read_bytes()))
    symbols = sorted({name for log in logs.values() for name in re.findall(r"'(_Z\w+)'", log)})
    told = [demangle(symbol) for symbol in symbols]
    monkeypatch.setattr(module, "_native", lambda: None)
    demangle.cache_clear()
    assert [demangle(symbol) for symbol in symbols] == told
    assert len(symbols) >= 15


@pytest.mark.parametrize(
    "symbol",
    ["main", "solve", "_Z", "_Zzz", "_Z1", "_Z9999999999x", "_Z5scale'; drop", "", "_Z" + "N" * 5000],
)
def test_what_has_no_other_name_keeps_its_own(symbol: str) -> None:
    assert demangle(symbol) == symbol


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("scale(float*, int)", "scale"),
        ("pick<(E)2>(float*)", "pick<(E)2>"),
        ("(anonymous namespace)::scale(float*)", "(anonymous namespace)::scale"),
        ("apply<main::{lambda(float)#1}>(main::{lambda(float)#1}, float*)", "apply<main::{lambda(float)#1}>"),
        ("solve", "solve"),
    ],
)
def test_a_short_name_leaves_out_the_parameters(name: str, short: str) -> None:
    assert short_name(name) == short


def test_symbols_in_a_message_become_names() -> None:
    assert (
        in_text("Undefined reference to '_Z9elsewheref' in 'x.o'")
        == "Undefined reference to 'elsewhere' in 'x.o'"
    )


@given(st.text(alphabet="_ZNSTIEKPRLjilmfvd0123456789abcAB.$", max_size=80))
def test_any_symbol_has_a_name(rest: str) -> None:
    assert isinstance(demangle("_Z" + rest), str)


@given(st.text(alphabet="_ZNSTIEKPRLjilmfvd0123456789abcAB.$", max_size=80))
def test_any_symbol_has_a_name_without_the_runtime(rest: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_native", lambda: None)
        demangle.cache_clear()
        assert isinstance(demangle("_Z" + rest), str)


@given(st.text(max_size=60))
def test_any_text_has_a_short_name(name: str) -> None:
    assert name.startswith(short_name(name))
