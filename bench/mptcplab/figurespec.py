# SPDX-License-Identifier: GPL-2.0
"""A [[figure]] of a scenario's file."""

from mptcplab.measures import MEASURES
from mptcplab.schema import FIGURES, NUMBER, one_of


def figure(table, params):
    """One figure of the report."""
    out = {"kind": table.take("kind", str, needed=True)}
    for key in ("measure", "beside", "title", "x", "y", "of", "group", "claim", "unit"):
        out[key] = table.take(key, str, "")
    if out["beside"]:
        one_of(table, "beside", out["beside"], MEASURES)
    one_of(table, "kind", out["kind"], FIGURES)
    if out["kind"] in ("heatmap", "bars", "lines"):
        one_of(table, "measure", out["measure"], MEASURES)
    out["where"] = table.take("where", dict, {})
    names = [(k, out[k]) for k in ("x", "y", "group") if out[k]]
    out["claims"] = [claim(t) for t in table.tables("claims")]
    names += [("where", k) for k in out["where"]]
    names += [("claims", k) for c in out["claims"] for k in c["at"]]
    for key, name in names:
        if name not in params:
            table.fail(key, f"{name!r} names no parameter; there are: {', '.join(params)}")
    out["schedulers"] = table.strings("schedulers", None)
    out["log"] = table.take("log", bool, False)
    table.end()
    return out


def claim(table):
    """A value that the paper has, for a scheduler at some parameters."""
    out = {
        "scheduler": table.take("scheduler", str, needed=True),
        "at": table.take("at", dict, {}),
        "value": table.take("value", NUMBER, needed=True),
    }
    table.end()
    return out
