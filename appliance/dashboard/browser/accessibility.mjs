// SPDX-License-Identifier: BSD-3-Clause
// What axe-core finds wrong with a page for those who do not see it, or use no mouse.

// The page forbids scripts that are not its own: axe comes in by the debugger, which may.
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
