"""What each component was worth: Banzhaf effects with intervals, on any table of rollouts. Knows no MCP.

The face of the library: everything below may be imported from here. `docs/attribution.md` has a worked
example.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .banzhaf import Effects, banzhaf_effects, banzhaf_values, transform
    from .bridge import to_shapiq
    from .budget import Plan, Variances, expected_half_width, may_stop, pilot_variances, plan, plan_these
    from .findings import Findings, analyse
    from .formats import to_csv, to_json, to_markdown
    from .game import coalition_mask, coalition_name, pair_indices, pair_names, tabulate
    from .gathering import table_from_rows
    from .html import to_html
    from .interactions import (
        banzhaf_interactions,
        mobius,
        reference_effects,
        shapley,
        shapley_interactions,
        sigma,
    )
    from .plots import save_plots
    from .quantities import Options, Quantity
    from .readers import read_table
    from .regression import Regression, regression_banzhaf
    from .report import Attribution, attribute
    from .sampling import design, fraction
    from .simulation import World, simulated_rows
    from .table import RolloutTable
    from .uncertainty import bonferroni, bootstrap, cluster_t, holm, permutation_p, wilson, wilson_cluster
    from .values import sample
    from .verdicts import Verdict

# Imported when first used: the daemon and `warpwise --help` load this package and want no numpy for it.
_HOME = {
    "Attribution": "report",
    "Effects": "banzhaf",
    "Findings": "findings",
    "Options": "quantities",
    "Plan": "budget",
    "Quantity": "quantities",
    "Regression": "regression",
    "RolloutTable": "table",
    "Variances": "budget",
    "Verdict": "verdicts",
    "World": "simulation",
    "analyse": "findings",
    "attribute": "report",
    "banzhaf_values": "banzhaf",
    "banzhaf_effects": "banzhaf",
    "banzhaf_interactions": "interactions",
    "bonferroni": "uncertainty",
    "bootstrap": "uncertainty",
    "cluster_t": "uncertainty",
    "coalition_mask": "game",
    "coalition_name": "game",
    "design": "sampling",
    "expected_half_width": "budget",
    "fraction": "sampling",
    "holm": "uncertainty",
    "may_stop": "budget",
    "mobius": "interactions",
    "pair_indices": "game",
    "pair_names": "game",
    "permutation_p": "uncertainty",
    "pilot_variances": "budget",
    "plan": "budget",
    "plan_these": "budget",
    "read_table": "readers",
    "reference_effects": "interactions",
    "regression_banzhaf": "regression",
    "sample": "values",
    "save_plots": "plots",
    "shapley": "interactions",
    "shapley_interactions": "interactions",
    "sigma": "interactions",
    "simulated_rows": "simulation",
    "table_from_rows": "gathering",
    "tabulate": "game",
    "to_csv": "formats",
    "to_html": "html",
    "to_json": "formats",
    "to_markdown": "formats",
    "to_shapiq": "bridge",
    "transform": "banzhaf",
    "wilson": "uncertainty",
    "wilson_cluster": "uncertainty",
}


def __getattr__(name: str) -> object:
    """Return a name of the library's face from its module. Raises AttributeError for any other."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOME[name]}", __name__), name)


__all__ = [
    "Attribution",
    "Effects",
    "Findings",
    "Options",
    "Plan",
    "Quantity",
    "Regression",
    "RolloutTable",
    "Variances",
    "Verdict",
    "World",
    "analyse",
    "attribute",
    "banzhaf_effects",
    "banzhaf_interactions",
    "banzhaf_values",
    "bonferroni",
    "bootstrap",
    "cluster_t",
    "coalition_mask",
    "coalition_name",
    "design",
    "expected_half_width",
    "fraction",
    "holm",
    "may_stop",
    "mobius",
    "pair_indices",
    "pair_names",
    "permutation_p",
    "pilot_variances",
    "plan",
    "plan_these",
    "read_table",
    "reference_effects",
    "regression_banzhaf",
    "sample",
    "save_plots",
    "shapley",
    "shapley_interactions",
    "sigma",
    "simulated_rows",
    "table_from_rows",
    "tabulate",
    "to_csv",
    "to_html",
    "to_json",
    "to_markdown",
    "to_shapiq",
    "transform",
    "wilson",
    "wilson_cluster",
]
