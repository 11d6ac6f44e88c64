// SPDX-License-Identifier: BSD-3-Clause
// Fails the build when what a browser has to load grows beyond its budget, or when a page that
// holds the files inline would break on them.
import { readFileSync, readdirSync } from "node:fs";
import { gzipSync } from "node:zlib";

const kBudget = 120 * 1024;
const kFiles = ["index.html", "app.js", "app.css"];

const folder = new URL("dist/", import.meta.url);
const others = readdirSync(folder).filter((name) => !kFiles.includes(name));
if (others.length > 0) throw new Error(`dist has files that the box does not serve: ${others}`);

let total = 0;
for (const name of kFiles) {
  const content = readFileSync(new URL(name, folder));
  const size = gzipSync(content, { level: 9 }).length;
  total += size;
  console.log(`${name.padEnd(12)}${String(size).padStart(8)} bytes gzipped`);
  const text = content.toString();
  if (name === "app.js" && /<\/script|<!--/i.test(text)) {
    throw new Error("app.js ends a <script> element that holds it");
  }
  if (name === "app.css" && /<\/style|url\((?!["']?data:)/i.test(text)) {
    throw new Error("app.css ends a <style> element or loads something");
  }
}
console.log(`${"total".padEnd(12)}${String(total).padStart(8)} of ${kBudget}`);
if (total > kBudget) throw new Error("too large");
