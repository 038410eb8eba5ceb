import { rolldown } from "rolldown";

/** Returns the whole package as one minified module. */
export async function bundle(): Promise<string> {
  const build = await rolldown({ input: "dist/index.js" });
  const { output } = await build.generate({ format: "esm", minify: true });
  await build.close();
  return output[0].code;
}
