import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Block, readBlocks } from '../../../src/clients/clients.ts';

const README = join(import.meta.dirname, '../../../src/clients/README.md');

/** The section of an agent, or of one of its variants, in src/clients/README.md. */
function sectionOf(name: string): string {
  const [, section = ''] = readFileSync(README, 'utf8').split(new RegExp(`\n###? ${name}\n`));
  return section.split(/\n##/)[0]!;
}

/** The version with which a section was tried. */
export function versionOf(name: string): string {
  return /[Vv]ersion (\d+\.\d+\.\d+)/.exec(sectionOf(name))?.[1] ?? '';
}

/** The blocks of a section: what `oriel connect` shows of a client. */
export function blocksOf(name: string): Block[] {
  const blocks = readBlocks(sectionOf(name));
  if (blocks.length === 0) throw new Error(`src/clients/README.md has no section ${name}`);
  return blocks;
}
