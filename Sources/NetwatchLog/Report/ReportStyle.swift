/// The style sheet of the report: for phones and paper, in light and in dark.
enum ReportStyle {
  static let css = """
    :root { color-scheme: light dark; --text: #1b1f24; --soft: #57606a; --page: #fff; --line: #d0d7de; --well: #eff2f5;
      --up: #4ac26b; --down: #a40e26; --sleep: #8c959f; --bar: #0969da }
    @media (prefers-color-scheme: dark) {
      :root { --text: #e6edf3; --soft: #9198a1; --page: #0d1117; --line: #30363d; --well: #21262d;
        --up: #2ea043; --down: #f85149; --sleep: #6e7681; --bar: #4493f8 }
    }
    * { box-sizing: border-box }
    body { margin: 0 auto; padding: 1.5rem 1rem 3rem; max-width: 60rem; background: var(--page); color: var(--text);
      font: 16px/1.5 system-ui, sans-serif }
    h1 { font-size: 1.5rem; margin: 0 } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem }
    p { margin: .25rem 0 } .soft { color: var(--soft) }
    dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: .75rem; margin: 1.25rem 0 0 }
    dl div { border: 1px solid var(--line); border-radius: .5rem; padding: .5rem .75rem }
    dt { color: var(--soft); font-size: .85rem } dd { margin: 0; font-size: 1.25rem; font-weight: 600 }
    table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
    th, td { text-align: left; vertical-align: top; padding: .3rem 1.25rem .3rem 0; border-bottom: 1px solid var(--line) }
    th { color: var(--soft); font-weight: 600; font-size: .85rem } td.n, th.n { text-align: right }
    td:last-child, th:last-child { padding-right: 0 } td:last-child { overflow-wrap: anywhere }
    td:not(:last-child) { white-space: nowrap }
    .scale { display: flex; justify-content: space-between; color: var(--soft); font-size: .75rem; margin-left: 6.5rem }
    .day { display: flex; align-items: center; gap: .5rem; margin: 2px 0 } .day b { flex: 0 0 6rem; font-weight: 400;
      font-size: .85rem; white-space: nowrap }
    table svg { min-width: 6rem } svg { display: block; width: 100%; height: 14px; background: var(--well); border-radius: 3px }
    .up { fill: var(--up) } .down { fill: var(--down) } .sleep { fill: var(--sleep) } .bar { fill: var(--bar) }
    .key { display: flex; flex-wrap: wrap; gap: .25rem 1rem; font-size: .85rem; color: var(--soft); margin-top: .5rem }
    .key i { display: inline-block; width: .8em; height: .8em; border-radius: 2px; margin-right: .35em }
    @media (max-width: 34rem) {
      .day b { flex-basis: 4.9rem; font-size: .75rem } .scale { margin-left: 5.4rem }
      table.wide thead { position: absolute; left: -999rem }
      table.wide tr { display: block; padding: .4rem 0; border-bottom: 1px solid var(--line) }
      table.wide td, table.wide td:not(:last-child) { white-space: normal }
      table.wide td { display: flex; justify-content: space-between; gap: 1rem; border: 0; padding: .1rem 0;
        text-align: right; overflow-wrap: anywhere }
      table.wide td::before { content: attr(data-name); color: var(--soft); text-align: left; white-space: nowrap }
    }
    @media print {
      :root { --text: #000; --soft: #444; --page: #fff; --line: #bbb; --well: #eee; --up: #7fbf8f; --down: #000;
        --sleep: #aaa; --bar: #555 }
      body { padding: 0; max-width: none; font-size: 10pt } .day, tr, dl div { break-inside: avoid }
      h2 { break-after: avoid } svg, .key i { print-color-adjust: exact; -webkit-print-color-adjust: exact }
    }
    """
}
