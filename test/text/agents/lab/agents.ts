import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A coding agent, run as its section in src/clients/README.md says. */
export interface Agent {
  /** Name of its fixture. */
  readonly name: string;
  /** Heading of its section. */
  readonly section: string;
  /** Package of the npm registry with its version, and the file that runs. */
  readonly package: string;
  readonly version: string;
  readonly bin: string;
  /** The command to try, and the one that does a task without questions. */
  readonly task: readonly [string, string];
  /** A word of the configuration that this variant replaces. */
  readonly replace?: readonly [string, string];
}

const FILE = join(import.meta.dirname, 'agents.json');

export const AGENTS = JSON.parse(readFileSync(FILE, 'utf8')) as readonly Agent[];
