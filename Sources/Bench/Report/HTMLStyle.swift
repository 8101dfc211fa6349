/// How the report looks. Colours are variables, which a dark screen changes.
enum HTMLStyle {
  static let sheet = """

    :root { --ground: #ffffff; --panel: #f6f7f9; --ink: #1b1f24; --soft: #5b6470; --rule: #d9dde3; --good: #1a7f4b;
      --warn: #8f5b00; --bad: #b3261e; }
    .c0 { --c: #0b62d6; } .c1 { --c: #7a7f87; } .c2 { --c: #c2410c; } .c3 { --c: #128a4f; } .c4 { --c: #9333a8; }
    .c5 { --c: #a16f00; } .c6 { --c: #0e8a93; } .c7 { --c: #c0265f; }
    @media (prefers-color-scheme: dark) {
      :root { --ground: #14171b; --panel: #1c2026; --ink: #e7eaee; --soft: #9aa4b0; --rule: #333a43; --good: #57cf92;
        --warn: #e6b04d; --bad: #ff8a80; }
      .c0 { --c: #6aa8ff; } .c1 { --c: #a3abb5; } .c2 { --c: #ff9a5c; } .c3 { --c: #5bd699; } .c4 { --c: #d38be6; }
      .c5 { --c: #e3bd57; } .c6 { --c: #58cfd8; } .c7 { --c: #ff84b0; }
    }
    * { box-sizing: border-box; }
    body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
    main { max-width: 1180px; margin: 0 auto; padding: 24px 20px 60px; }
    h1 { font-size: 26px; line-height: 1.25; margin: 8px 0 12px; }
    h2 { font-size: 21px; margin: 44px 0 4px; padding-top: 16px; border-top: 1px solid var(--rule); }
    h3 { font-size: 16px; margin: 0 0 6px; }
    section > h3 { margin-top: 30px; }
    p { margin: 4px 0; }
    a { color: inherit; }
    .shape, .note, figcaption, nav { color: var(--soft); font-size: 14px; }
    .verdict { margin: 14px 0; padding-left: 10px; border-left: 4px solid; }
    .good { border-color: var(--good); } .warn { border-color: var(--warn); } .verdict.bad { border-color: var(--bad); }
    .scroll { overflow-x: auto; }
    table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 14.5px; }
    th, td { padding: 5px 16px 5px 0; text-align: right; vertical-align: top; border-bottom: 1px solid var(--rule); }
    th:first-child { text-align: left; font-weight: 500; white-space: nowrap; }
    td { white-space: nowrap; }
    td b { display: block; font-weight: 400; color: var(--soft); font-size: 13px; }
    td.left { text-align: left; white-space: normal; min-width: 320px; }
    .turns td { text-align: left; }
    tr.bad td, tr.bad th { color: var(--bad); }
    .figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 500px), 1fr)); gap: 18px;
      margin: 24px 0; align-items: start; }
    figure { margin: 0; padding: 14px 16px 12px; background: var(--panel); border-radius: 8px; }
    main > figure { max-width: 760px; margin: 20px 0; }
    figcaption { margin-top: 4px; }
    svg { display: block; width: 100%; height: auto; }
    svg text { fill: var(--soft); font: 12.5px system-ui, sans-serif; }
    svg text.value { fill: var(--ink); }
    .grid { stroke: var(--rule); stroke-width: 1; fill: none; }
    .axis { stroke: var(--soft); stroke-width: 1; fill: none; }
    .limit { stroke: var(--ink); stroke-width: 1.2; stroke-dasharray: 5 4; fill: none; opacity: 0.7; }
    .line { stroke: var(--c); stroke-width: 2.2; fill: none; stroke-linejoin: round; }
    .dashed { stroke-dasharray: 6 4; }
    .faint { stroke-width: 1.2; opacity: 0.55; }
    .dot { fill: var(--c); } .ring { fill: none; stroke: var(--c); stroke-width: 2.2; }
    .bar { fill: var(--c); opacity: 0.45; } .turn { fill: var(--c); stroke: var(--panel); stroke-width: 1; }
    dl { display: grid; grid-template-columns: max-content 1fr; gap: 4px 16px; font-size: 14px; margin: 0; }
    dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
    @media (max-width: 640px) { dl { grid-template-columns: 1fr; } dd { margin-bottom: 8px; } }

    """
}
