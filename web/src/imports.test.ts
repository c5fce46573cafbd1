/** Who may import whom: lib ← api ← components ← features ← app, and no feature another. */
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const SRC = fileURLToPath(new URL(".", import.meta.url));
const LAYERS = ["lib", "api", "components", "features", "app"];

interface Import {
  from: string;
  to: string;
}

function sources(): string[] {
  const files = readdirSync(SRC, { recursive: true, encoding: "utf8" });
  return files.filter((file) => /\.tsx?$/.test(file) && !file.includes(".test."));
}

function importsOf(file: string): Import[] {
  const text = readFileSync(join(SRC, file), "utf8");
  const targets = [...text.matchAll(/(?:from|import\()\s*"((?:@\/|\.)[^"]+)"/g)].map(
    (match) => match[1] ?? "",
  );
  return targets.map((target) => ({
    from: file,
    to: target.startsWith("@/") ? target.slice(2) : relative(SRC, join(SRC, file, "..", target)),
  }));
}

function layerOf(path: string): number {
  return LAYERS.indexOf(path.split("/")[0] ?? "");
}

function featureOf(path: string): string | undefined {
  return path.startsWith("features/") ? path.split("/")[1] : undefined;
}

const imports = sources().flatMap(importsOf);

test("the imports are found at all", () => {
  expect(imports.length).toBeGreaterThan(100);
});

test("imports point down", () => {
  const upward = imports.filter(
    ({ from, to }) => layerOf(from) >= 0 && layerOf(to) >= 0 && layerOf(to) > layerOf(from),
  );
  expect(upward).toEqual([]);
});

test("features do not import each other", () => {
  const across = imports.filter(
    ({ from, to }) => featureOf(from) && featureOf(to) && featureOf(from) !== featureOf(to),
  );
  expect(across).toEqual([]);
});

test("only the API folder speaks HTTP", () => {
  const speaks = /(?<![\w#.])fetch\(|new EventSource|XMLHttpRequest|createClient/;
  const outside = sources().filter(
    (file) => !file.startsWith("api/") && speaks.test(readFileSync(join(SRC, file), "utf8")),
  );
  expect(outside).toEqual([]);
});
