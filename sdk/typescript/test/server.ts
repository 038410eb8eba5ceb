import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Galley, type Options } from "galley-sdk";
import { inject, onTestFinished } from "vitest";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    program: string;
  }
}

/** Builds the server once for all tests. */
export default function setup(project: TestProject) {
  const folder = mkdtempSync(join(tmpdir(), "galley-sdk-"));
  const program = join(folder, "galley");
  execFileSync("go", ["build", "-C", "../..", "-o", program, "./cmd/galley"], { stdio: "inherit" });
  project.provide("program", program);
  return () => rmSync(folder, { recursive: true });
}

/** A running server, its first key and clients of it. */
export interface Server {
  url: string;
  key: string;
  client(options?: Options): Galley;
}

async function freePort(): Promise<number> {
  const listener = createServer().listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = listener.address() as { port: number };
  listener.close();
  await once(listener, "close");
  return port;
}

/** Starts the program on SQLite for one test, with more flags. */
export async function start(...flags: string[]): Promise<Server> {
  const program = inject("program");
  const data = mkdtempSync(join(tmpdir(), "galley-sdk-data-"));
  const key = execFileSync(program, ["keygen"], { encoding: "utf8" }).trim();
  const address = `127.0.0.1:${await freePort()}`;
  const run = spawn(program, ["serve", "--addr", address, "--data", data, "--app-rate", "off", ...flags], {
    env: { ...process.env, GALLEY_BOOTSTRAP_KEY: key },
    stdio: "ignore",
  });
  onTestFinished(async () => {
    run.kill("SIGKILL");
    if (run.exitCode === null) await once(run, "exit");
    rmSync(data, { recursive: true });
  });
  const url = `http://${address}`;
  await new Galley(url, { retries: 1000, pause: 20, timeout: 1000 }).operations.ready();
  return { url, key, client: (options) => new Galley(url, { key, ...options }) };
}
