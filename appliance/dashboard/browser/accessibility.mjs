// SPDX-License-Identifier: BSD-3-Clause
// Checks the accessibility of a page with axe-core.

// The page's CSP forbids foreign scripts, so axe is injected through the debugger.
export async function auditPage(page, axe, where, note) {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axe);
  const { violations } = await page.evaluate(() =>
    window.axe.run(document, { resultTypes: ["violations"] }),
  );
  for (const { id, help, nodes } of violations) {
    const first = nodes[0];
    note(`${where}: axe ${id}: ${help}; ${nodes.length} times, first ${first?.html.slice(0, 160)} ${first?.any[0]?.message ?? ""}`);
  }
}
