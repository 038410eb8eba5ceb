import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { publint } from "publint";
import { expect, onTestFinished, test } from "vitest";
import { bundle } from "./bundle.js";
import { start } from "./server.js";

const { scripts, ...manifest } = JSON.parse(readFileSync("package.json", "utf8"));

test("everything has at most 6 KB, gzipped, and no dependencies", async () => {
  const code = await bundle();
  expect(gzipSync(code).length).toBeLessThanOrEqual(6 * 1024);
  expect(code).not.toMatch(/\bimport\b/);
  expect(manifest.dependencies).toBeUndefined();
});

test("the types are those of the document", () => {
  const folder = mkdtempSync(join(tmpdir(), "galley-sdk-types-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const fresh = join(folder, "schema.ts");
  const [command, ...args] = scripts.generate.replace("src/schema.ts", fresh).split(" ");
  execFileSync(join("node_modules/.bin", command), args);
  expect(readFileSync(fresh, "utf8") === readFileSync("src/schema.ts", "utf8"), "src/schema.ts is stale: run 'make generate'").toBe(true);
});

test("publint finds nothing", async () => {
  expect((await publint({ strict: true })).messages).toEqual([]);
});

const imports = 'import { Galley } from "galley-sdk";\n';

test.each([
  ["README.md", "", ""],
  ["../../README.md", imports, "console.log(page.pathname)"],
])("the example of %s runs", async (file, before, after) => {
  const { url, key } = await start();
  const example = before + /```ts\n([^]*?)```/.exec(readFileSync(file, "utf8"))![1]!.replace("http://127.0.0.1:8080", url) + after;
  const printed = execFileSync(process.execPath, ["--input-type=module", "--eval", example], { env: { ...process.env, GALLEY_KEY: key }, encoding: "utf8" });
  expect(printed).toBe("/about\n");
});
