import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A block of code in the section of an agent. */
interface Block {
  readonly language: string;
  /** The last code span before the block: the file whose content it is. */
  readonly file: string;
  readonly code: string;
}

const README = join(import.meta.dirname, '../../../src/text/README.md');

/** The section of an agent in src/text/README.md. */
function sectionOf(agent: string): string {
  const [, section = ''] = readFileSync(README, 'utf8').split(`\n### ${agent}\n`);
  return section.split(/\n##/)[0]!;
}

/** The version with which a section was tried. */
export function versionOf(agent: string): string {
  return /[Vv]ersion (\d+\.\d+\.\d+)/.exec(sectionOf(agent))?.[1] ?? '';
}

/** The blocks of the section of an agent in src/text/README.md. */
export function blocksOf(agent: string): Block[] {
  const body = sectionOf(agent);
  const blocks = [...body.matchAll(/```(\w+)\n([\s\S]*?)```/g)];
  if (blocks.length === 0) throw new Error(`src/text/README.md has no section ${agent}`);
  return blocks.map(({ 1: language = '', 2: code = '', index }) => ({
    language,
    file: [...body.slice(0, index).matchAll(/`([^`\n]+)`/g)].at(-1)?.[1] ?? '',
    code,
  }));
}

/** The commands of a terminal. */
export function commandsOf(blocks: readonly Block[]): string[] {
  return blocks
    .filter(({ language }) => language === 'console')
    .flatMap(({ code }) => code.split('\n'))
    .filter((line) => line.startsWith('$ '))
    .map((line) => line.slice(2));
}
