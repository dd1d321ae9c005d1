"""Rules: what is found on a flow or in a syntax tree becomes findings, with evidence, a fix and how to confirm it."""
