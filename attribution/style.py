"""The report's style sheet: light and dark, one column on a phone, three on a desk. No content."""

STYLE = """
:root{--ink:#1a1d21;--dim:#5a626c;--paper:#fff;--card:#f5f6f8;--edge:#d5d9de;--grid:#e3e6ea;
--plus:#0b6e99;--minus:#c2510c;--flat:#6b7380;--alarm:#fff3d6;--alarm-edge:#c98a00;color-scheme:light dark}
@media(prefers-color-scheme:dark){:root{--ink:#e8eaed;--dim:#a4acb6;--paper:#15181c;--card:#1e2329;
--edge:#39414a;--grid:#2a3038;--plus:#5bb8e0;--minus:#f0904f;--flat:#98a1ac;--alarm:#3a2f10;--alarm-edge:#c98a00}}
*{box-sizing:border-box}body{margin:0;background:var(--paper);color:var(--ink);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
main{max-width:1240px;margin:0 auto;padding:16px}h1{font-size:1.5rem;line-height:1.25;margin:.4rem 0}
h2{font-size:1.15rem;margin:0 0 .5rem}h3{font-size:1rem;margin:0;overflow-wrap:anywhere}
p{margin:.25rem 0;overflow-wrap:anywhere}section{margin:26px 0}
nav{display:flex;flex-wrap:wrap;gap:4px 16px;margin:.5rem 0}a{color:var(--plus)}
.alarm{background:var(--alarm);border-left:5px solid var(--alarm-edge);padding:12px 16px;border-radius:4px}
.alarm ul{margin:0;padding-left:1.1rem}.alarm li{overflow-wrap:anywhere}.calm{color:var(--dim);margin:8px 0}
.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(240px,1fr));gap:12px}
article{background:var(--card);border:1px solid var(--edge);border-left:5px solid var(--flat);border-radius:6px;
padding:10px 14px}article.live{border-left-color:var(--plus)}article.redundant{border-left-color:var(--minus)}
article p{color:var(--dim);font-size:.9rem}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(340px,100%),1fr));gap:18px;align-items:start}
figure{margin:0;min-width:0;max-width:560px}figcaption{font-size:.9rem;color:var(--dim);margin-bottom:4px}
svg{width:100%;height:auto;display:block}
svg text{font:11px system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;fill:var(--ink)}
svg text.axis{fill:var(--dim);font-size:10px}svg text.value{font-size:10.5px;font-variant-numeric:tabular-nums}
svg text.cell{font-size:9.5px}line.grid{stroke:var(--grid)}line.zero{stroke:var(--dim);stroke-width:1.2}
line.thick{stroke-width:5;stroke-linecap:round}line.thin{stroke-width:1.5}
line.plus{stroke:var(--plus)}line.minus{stroke:var(--minus)}line.neutral{stroke:var(--flat)}
.plus{fill:var(--plus)}.minus{fill:var(--minus)}.neutral{fill:var(--flat)}.void{fill:var(--grid)}
.bar{fill:var(--plus)}.given,.mark{fill:var(--ink)}line.whisker{stroke:var(--ink);stroke-width:1.2}
.band{fill:var(--plus);fill-opacity:.18}.curve{fill:none;stroke:var(--plus);stroke-width:1.8}
details{margin-top:10px}summary{cursor:pointer;color:var(--plus)}.scroll{overflow-x:auto}
table{border-collapse:collapse;font-size:.85rem}th,td{text-align:left;padding:3px 10px 3px 0;
border-bottom:1px solid var(--edge);white-space:nowrap}dt{font-weight:600}dd{margin:0 0 .5rem}
""".replace("\n", "")
