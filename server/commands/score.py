"""`warpwise score`: fast_p, geometric means and pass@k of many judgements."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ..evaluation.score import Estimate


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(score)


def score(
    results: Annotated[Path, typer.Argument(help="Answers of evaluate: a JSON list, or one object a line.")],
    p: Annotated[list[float] | None, typer.Option("-p", help="fast_p for this p; may be repeated.")] = None,
    k: Annotated[
        list[int] | None, typer.Option("-k", min=1, help="pass@k for this k; may be repeated.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Score judgements: the share that is right and p times as fast, geometric means, pass@k; 95 % intervals."""
    from ..errors import InvalidRequest, NotFound
    from ..evaluation.score import fast, geometric_mean, pass_at, read

    try:
        samples = read(results.read_text(encoding="utf-8"))
    except OSError as error:
        raise NotFound(f"cannot read {results}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"{results} is no text: {error.reason}") from error
    if not samples:
        raise InvalidRequest(f"{results} holds no results")
    found: dict[str, Estimate | None] = {}
    for value in p or (0.0, 1.0, 1.5, 2.0):
        found[f"fast_{value:g}"] = fast(samples, value)
        if value > 0:
            found[f"fast_{value:g}, certain"] = fast(samples, value, certain=True)
    found["geometric mean, right"] = geometric_mean(samples)
    found["geometric mean, right and faster"] = geometric_mean(samples, faster_only=True)
    found |= {f"pass@{count}": pass_at(samples, count) for count in k or (1,)}
    if as_json:
        told = {name: asdict(one) if one else None for name, one in found.items()}
        print(json.dumps({"samples": len(samples), **told}))
        return
    print(f"{len(samples)} judgements of {len({one.workload for one in samples})} workloads")
    for name, one in found.items():
        print(f"{name}: {one or 'not enough samples'}")
