"""The style sheet of the page, with a light and a dark mode and nothing to download."""

from __future__ import annotations

from dataclasses import dataclass

from spanwise.render.palette import TONES


@dataclass(frozen=True, slots=True)
class Mode:
    """Colors of the page, lightness in percent of a label's tone for each purpose, and a factor on its saturation."""

    page: str
    card: str
    ink: str
    quiet: str
    line: str
    fill: int
    edge: int
    tag: int
    vivid: float


LIGHT = Mode("#f6f5f2", "#ffffff", "#1d1f23", "#5c6068", "#e3e1dc", fill=93, edge=72, tag=27, vivid=1.0)
DARK = Mode("#131519", "#1b1e24", "#e8e6e1", "#a2a7b0", "#2d3139", fill=21, edge=42, tag=80, vivid=0.6)

_RULES = """
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--page);color:var(--ink);font:16px/1.5 var(--ui)}
.wrap{max-width:60rem;margin:0 auto;padding:3rem 1.5rem 4rem}
h1{margin:0;font-size:1.9rem;line-height:1.2;letter-spacing:-.02em;font-weight:680;overflow-wrap:anywhere}
.summary{margin:.4rem 0 0;color:var(--quiet)}
.legend{position:sticky;top:0;z-index:1;display:flex;flex-wrap:wrap;gap:.45rem;margin:1.4rem -1.5rem 1.2rem;
padding:.8rem 1.5rem;background:var(--page);border-bottom:1px solid var(--line)}
.chip{display:inline-flex;align-items:center;gap:.5em;padding:.2em .65em;border:1px solid var(--edge);
border-radius:99px;background:var(--fill);color:var(--tag);font-size:.82rem;font-weight:600;cursor:pointer;max-width:100%}
.chip .name{overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.chip input{position:absolute;opacity:0;pointer-events:none}
.chip:has(:focus-visible){outline:2px solid var(--tag);outline-offset:2px}
.chip:has(input:not(:checked)){background:none;border-style:dashed;text-decoration:line-through}
.chip .count{font-weight:450;font-variant-numeric:tabular-nums}
.doc{margin:0 0 1rem;padding:1.1rem 1.5rem 1.3rem;overflow-x:clip;background:var(--card);
border:1px solid var(--line);border-radius:14px}
.doc header{display:flex;justify-content:space-between;gap:1rem;color:var(--quiet);font-size:.8rem}
.doc h2{margin:0;font:inherit;font-weight:600;overflow-wrap:anywhere}
.doc .counts{flex:none}
.text{margin-top:.35rem;font-family:var(--reading);font-size:1.14rem;line-height:calc(1.45 + .42*var(--deep,1));
white-space:pre-wrap;overflow-wrap:anywhere;unicode-bidi:plaintext}
.text:empty::before{content:"This document has no text.";color:var(--quiet);font-style:italic}
mark{--up:1;--rise:calc(.1em + .2em*(var(--up) - 1));padding:var(--rise) .28em;margin:0 .05em;color:inherit;
background:var(--fill);border:1px solid var(--edge);border-radius:.4em;
-webkit-box-decoration-break:slice;box-decoration-break:slice;print-color-adjust:exact;-webkit-print-color-adjust:exact}
mark:hover{border-color:var(--tag)}
mark::before{content:attr(data-label) "\\2060";margin-inline-end:.5em;color:var(--tag);font:650 .62em/1 var(--ui);
letter-spacing:.02em;vertical-align:.1em;white-space:nowrap;unicode-bidi:isolate;user-select:none;-webkit-user-select:none}
mark.goes-on{margin-inline-end:0;border-inline-end:2px dotted var(--tag);
border-start-end-radius:0;border-end-end-radius:0}
mark.came-from::before{content:"\\2026\\2060"}
mark.came-from{margin-inline-start:0;border-inline-start:2px dotted var(--tag);
border-start-start-radius:0;border-end-start-radius:0}
.again{border-style:dashed}
.note,.empty{color:var(--quiet);font-size:.85rem}
@media (max-width:34rem){.wrap{padding:1.6rem 1rem}.legend{position:static;margin-inline:-1rem;padding-inline:1rem}
.doc{padding:1rem}}
@media print{.legend{position:static}.doc{break-inside:avoid}}
"""
_ARC_RULES = """
html{overflow-y:scroll}
.doc{position:relative}
.ties{display:flex;flex-wrap:wrap;gap:.45rem;margin:0 0 1.2rem}
.tie{--fill:var(--card);--edge:var(--line);--tag:var(--quiet)}
.arcs{display:none;position:absolute;inset:0;width:100%;height:100%;overflow:visible;pointer-events:none}
.drawn .arcs{display:block}
.drawn .text{padding-inline:.5rem}
.drawn mark{--room:0px;line-height:calc(1em*(1.45 + .42*var(--deep,1)) + var(--room));
position:relative;vertical-align:calc(var(--room)/2);top:calc(var(--room)/2)}
.arcs path{fill:none;stroke:var(--quiet);stroke-width:1.2;stroke-linecap:round;stroke-linejoin:round;
pointer-events:stroke}
.arcs text{fill:var(--quiet);stroke:var(--card);stroke-width:7px;stroke-linejoin:round;paint-order:stroke;
font:600 11px/1 var(--ui);text-anchor:middle;dominant-baseline:central;unicode-bidi:plaintext;
pointer-events:all;cursor:default;user-select:none;-webkit-user-select:none}
.focused .arcs :not(.lit){opacity:.25}
.arcs path.lit{stroke:var(--ink);stroke-width:2}
.arcs text.lit,li.lit{fill:var(--ink);color:var(--ink)}
mark.lit{border-color:var(--tag)}
details{margin-top:.9rem;color:var(--quiet);font-size:.85rem}
summary{cursor:pointer}
details ul{margin:.4rem 0 0;padding:0;list-style:none}
details li{overflow-wrap:anywhere}
.link{display:inline-block;max-width:100%;font-weight:600;unicode-bidi:isolate}
@media print{.drawn .arcs{display:none}.drawn mark{--room:0px!important}}
"""
_FONTS = (
    "--ui:ui-sans-serif,system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans',Arial,sans-serif;"
    "--reading:'Iowan Old Style',Charter,'Source Serif 4',Georgia,'Noto Serif','DejaVu Serif',serif;"
)


def style_sheet(entity_labels: int, relation_labels: int = 0) -> str:
    """The rules of the page and of each label: its tone, and what it hides if unchecked in the legend."""
    labels = "\n".join(_label_rules(index) for index in range(entity_labels))
    if relation_labels:
        hiding = [*(f"e{index}" for index in range(entity_labels)), *(f"r{index}" for index in range(relation_labels))]
        labels += _ARC_RULES + "\n".join(map(_hidden_arcs, hiding))
    return (
        f":root{{color-scheme:light dark;{_FONTS}{_variables(LIGHT)}}}\n"
        f"@media (prefers-color-scheme:dark){{:root{{{_variables(DARK)}}}}}\n"
        f"mark,.chip{{{_purposes()}}}{_RULES}{labels}\n"
    )


def _variables(mode: Mode) -> str:
    colors = f"--vivid:{mode.vivid};" + "".join(
        f"--{name}:{getattr(mode, name)};" for name in ("page", "card", "ink", "quiet", "line")
    )
    return colors + "".join(f"--{name}-l:{getattr(mode, name)}%;" for name in ("fill", "edge", "tag"))


def _purposes() -> str:
    return "".join(
        f"--{name}:hsl(var(--hue) calc(var(--sat)*var(--vivid)) var(--{name}-l));" for name in ("fill", "edge", "tag")
    )


def _label_rules(index: int) -> str:
    tone = TONES[index % len(TONES)]
    hidden = f"body:has(#show-{index}:not(:checked)) mark.c{index}"
    return (
        f".c{index}{{--hue:{tone.hue};--sat:{tone.saturation}%}}\n"
        f"{hidden}{{background:none;border-color:transparent}}{hidden}::before{{content:none}}"
    )


def _hidden_arcs(kind: str) -> str:
    """Hide the arcs of a relation label (`r0`), or arcs that touch an entity label (`e0`), if it is unchecked."""
    return f"body:has(#show-{kind.removeprefix('e')}:not(:checked)) .{kind}{{display:none}}"
