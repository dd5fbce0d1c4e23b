"""The style of a report, on top of the style of marked texts."""

from __future__ import annotations

from spanwise.render.charts import chart_rules
from spanwise.render.style import style_sheet

_RULES = """
html{scroll-behavior:smooth;scroll-padding-top:1rem}
@media (prefers-reduced-motion:reduce){html{scroll-behavior:auto}}
.wrap{max-width:82rem}
a{color:inherit;text-underline-offset:.2em;text-decoration-color:var(--quiet)}
:is(a,button,summary,.scroll):focus-visible{outline:2px solid var(--ink);outline-offset:2px;border-radius:4px}
.facts{display:flex;flex-wrap:wrap;gap:.3rem 1.6rem;margin:.7rem 0 0;font-size:.9rem}
.facts div{display:flex;gap:.45em;min-width:0}
.facts dt{color:var(--quiet)}
.facts dd{margin:0;font-weight:600}
.page{display:grid;grid-template-columns:12rem minmax(0,1fr);gap:2rem;margin-top:2rem}
.contents{position:sticky;top:1rem;align-self:start;max-height:calc(100vh - 2rem);overflow-y:auto;font-size:.9rem}
.contents h2{margin:0 0 .5rem;color:var(--quiet);font-size:.75rem;font-weight:600;letter-spacing:.05em;
text-transform:uppercase}
.contents ol{margin:0;padding:0;list-style:none}
.contents a{display:block;padding:.22rem .6rem;border-left:2px solid var(--line);text-decoration:none;
overflow-wrap:anywhere}
.contents a:hover{border-color:var(--ink)}
section{margin:0 0 3rem}
section>h2{margin:0 0 .3rem;font-size:1.35rem;line-height:1.25;letter-spacing:-.01em;overflow-wrap:anywhere}
section>p{margin:.2rem 0 0;max-width:46rem;color:var(--quiet);overflow-wrap:anywhere}
figure{min-width:0;margin:0;padding:1rem 1.25rem 1.1rem;background:var(--card);border:1px solid var(--line);
border-radius:14px}
.elements{display:flex;flex-wrap:wrap;align-items:flex-start;gap:1rem;margin-top:1rem}
.elements>*{flex:0 1 auto;max-width:100%}
.elements>.table,.elements>.cases{flex:1 1 100%}
h3{margin:0 0 .6rem;font-size:1rem;font-weight:640;overflow-wrap:anywhere;overflow:hidden}
figure .note,.cases>.note{margin:.6rem 0 0;max-width:46rem;overflow-wrap:anywhere}
.scroll{overflow:auto;max-height:36rem}
table{border-collapse:collapse;font-size:.88rem;font-variant-numeric:tabular-nums}
th,td{padding:.36rem .55rem;border-bottom:1px solid var(--line);text-align:start;white-space:nowrap}
:is(th,td):first-child{padding-inline-start:.2rem}
thead th{position:sticky;top:0;z-index:1;background:var(--card);color:var(--quiet);font-weight:600;
vertical-align:bottom}
tbody tr:hover td{background:color-mix(in srgb,var(--line) 45%,transparent)}
tbody tr:last-child td{border-bottom:0}
.number{text-align:end}
.words{display:-webkit-box;-webkit-box-orient:vertical;-webkit-line-clamp:3;overflow:hidden;max-width:24rem;
width:max-content;white-space:normal;overflow-wrap:anywhere;unicode-bidi:plaintext}
:is(h1,h2,h3,h4) .words,.contents .words{width:auto;max-width:100%}
thead .words{max-width:9rem}
.facts .words{width:auto;max-width:46rem;-webkit-line-clamp:6}
.range,[data-missing]{color:var(--quiet)}
.range{font-size:.92em}
th button{display:inline-flex;align-items:center;gap:.35em;margin:-.2rem;padding:.2rem;border:0;background:none;
color:inherit;font:inherit;text-align:inherit;cursor:pointer}
th button::after{content:"\\2195";flex:none;opacity:.45}
th[aria-sort]{color:var(--ink)}
th[aria-sort=ascending] button::after{content:"\\2191";opacity:1}
th[aria-sort=descending] button::after{content:"\\2193";opacity:1}
.plot .scroll{max-height:none}
.chart{display:block;max-width:none}
.save{margin-top:.7rem;padding:.25rem .7rem;border:1px solid var(--line);border-radius:8px;background:none;
color:var(--quiet);font:inherit;font-size:.8rem;cursor:pointer}
.save:hover{border-color:var(--quiet);color:var(--ink)}
.case{margin:.45rem 0 0;padding:0 1.25rem;background:var(--card);border:1px solid var(--line);border-radius:14px;
color:inherit;font-size:inherit}
.case[open]{padding-bottom:1rem}
.case>summary{display:flex;align-items:baseline;gap:.6rem;margin:0 -1.25rem;padding:.6rem 1.25rem;border-radius:14px;
list-style:none;cursor:pointer}
.case>summary::-webkit-details-marker{display:none}
.case>summary::before{content:"\\25B8";flex:none;color:var(--quiet)}
.case[open]>summary::before{content:"\\25BE"}
.case h4{flex:1;display:flex;flex-wrap:wrap;justify-content:space-between;gap:.1rem 1rem;min-width:0;margin:0;
font-size:.92rem;font-weight:600}
.case h4>*{min-width:0;overflow-wrap:anywhere;unicode-bidi:plaintext}
.times{flex:none;color:var(--quiet);font-weight:450}
.case .doc{display:grid;grid-template-columns:8rem minmax(0,1fr);gap:0 1rem;margin:0;padding:.45rem 0 0;border:0;
border-radius:0;background:none}
.case .doc+.doc{margin-top:.45rem;border-top:1px solid var(--line)}
.case h5{margin:.35rem 0 0;overflow:hidden;color:var(--quiet);font-size:.8rem;font-weight:600;line-height:1.4;
text-overflow:ellipsis;unicode-bidi:plaintext}
.case .text{margin-top:0;font-size:1.02rem}
.case details{grid-column:2;margin-top:.3rem}
@media (max-width:60rem){.page{grid-template-columns:minmax(0,1fr);gap:1.2rem;margin-top:1.2rem}
.contents{position:static;max-height:none}
.contents ol{display:flex;flex-wrap:wrap;gap:.35rem}
.contents li{min-width:0}
.contents a{padding:.2rem .7rem;border:1px solid var(--line);border-radius:99px;background:var(--card)}}
@media (max-width:34rem){figure{padding:.9rem .9rem 1rem}.case .doc{grid-template-columns:minmax(0,1fr)}
.case h5{margin:0;white-space:nowrap}.case details{grid-column:1}}
@media print{.contents,.save{display:none}.page{display:block}figure,.case{break-inside:avoid}
.scroll{max-height:none;overflow:visible}}
"""


def report_style(entity_labels: int, relation_labels: int) -> str:
    return style_sheet(entity_labels, relation_labels) + _RULES + chart_rules()
