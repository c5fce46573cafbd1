/** The examples of the repository, each loaded when it is wanted. */
const files = import.meta.glob<string>("../../../examples/*.yaml", { query: "?raw", import: "default" });

export interface Example {
  /** File name without its ending: `demo`. */
  name: string;
  load: () => Promise<string>;
}

export const EXAMPLES: readonly Example[] = Object.entries(files)
  .map(([path, load]) => ({ name: path.replace(/^.*\/|\.yaml$/g, ""), load }))
  .sort((a, b) => a.name.localeCompare(b.name));
