// SPDX-License-Identifier: BSD-3-Clause
// Fails the build if the files exceed the size budget, or if they cannot be embedded in a single
// page.
import { readFileSync, readdirSync } from "node:fs";
import { gzipSync } from "node:zlib";

const kBudget = 160 * 1024;
const kFiles = ["index.html", "app.js", "app.css"];

const folder = new URL("dist/", import.meta.url);
const others = readdirSync(folder).filter((name) => !kFiles.includes(name));
if (others.length > 0) throw new Error(`dist contains files that the appliance does not serve: ${others}`);

let total = 0;
for (const name of kFiles) {
  const content = readFileSync(new URL(name, folder));
  const size = gzipSync(content, { level: 9 }).length;
  total += size;
  console.log(`${name.padEnd(12)}${String(size).padStart(8)} bytes gzipped`);
  const text = content.toString();
  if (name === "app.js" && /<\/script|<!--/i.test(text)) {
    throw new Error("app.js contains </script> and cannot be embedded");
  }
  if (name === "app.css" && /<\/style|url\((?!["']?data:)/i.test(text)) {
    throw new Error("app.css contains </style> or loads a resource, and cannot be embedded");
  }
}
console.log(`${"total".padEnd(12)}${String(total).padStart(8)} of ${kBudget}`);
if (total > kBudget) throw new Error("the size exceeds the budget");
