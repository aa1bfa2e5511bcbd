import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAst } from 'vitest/node';
import { parse } from 'yaml';
import {
  type Block,
  type Connection,
  EXAMPLE,
  filled,
  readClients,
} from '../../src/clients/clients.ts';
import { ROOT, temporaryFolder } from '../oriel.ts';

const CLIENTS = readClients(readFileSync(join(ROOT, 'src/clients/README.md'), 'utf8'));

/** Values that break each language if they are not quoted for it. */
const HOSTILE: Connection = {
  url: "https://oriel.example/a'b",
  key: `k"\\'$(touch pwned)\`#;&`,
  model: 'a "b" \\ \'c\' $HOME ${x} \x7f# & ; é 😀',
};

it('every client that is promised has its section, in the order of lists', () => {
  expect(CLIENTS.map(({ id }) => id)).toEqual([
    ...['codex', 'claude-code', 'gemini-cli', 'opencode', 'qwen-code', 'cline', 'continue'],
    ...['open-webui', 'librechat', 'n8n', 'langchain', 'openai', 'anthropic', 'google', 'ai-sdk'],
    'curl',
  ]);
});

describe.each(CLIENTS)('$id', ({ blocks, kind, format, notes }) => {
  const text = blocks.map((block) => block.text).join('\n');

  it('has a configuration with address and key, and commands at its end', () => {
    expect(text).toContain(EXAMPLE.url);
    expect(text).toContain(EXAMPLE.key);
    expect(blocks.at(-1)).toMatchObject({ path: null, language: 'console' });
    expect(blocks.filter(({ path }) => path === null)).toHaveLength(1);
    expect(['agent', 'application', 'library']).toContain(kind);
    expect(['chat completions', 'responses', 'messages', 'gemini']).toContain(format);
    expect(notes.filter((note) => /\n|\]\(|YOUR_KEY|sandbox-chat/.test(note))).toEqual([]);
  });

  it.each(blocks)('keeps hostile values whole in $path', (block) => {
    const values = Object.values(HOSTILE).filter((_, index) =>
      block.text.includes(Object.values(EXAMPLE)[index]!),
    );
    const found = textsOf(filled(block, HOSTILE));
    for (const value of values) {
      expect(found.some((one) => one.includes(value))).toBe(true);
    }
  });
});

/** Every text of a block, as a parser of its language reads it. */
function textsOf({ language, text }: Block): string[] {
  if (language === 'console') return shellWords(text);
  if (language === 'txt') return text.split('\n');
  if (language === 'json') return leaves(JSON.parse(text));
  if (language === 'yaml') return leaves(parse(text));
  if (language === 'js') return leaves(parseAst(text));
  // Python and basic strings of TOML have the escapes of JSON that are used here.
  return Array.from(text.matchAll(/"(?:[^"\\\n]|\\.)*"/g), ([quoted]) => JSON.parse(quoted));
}

function leaves(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return Object.entries(value ?? {}).flatMap(([key, inner]) => [
    key,
    ...(typeof inner === 'object' || typeof inner === 'string' ? leaves(inner) : []),
  ]);
}

/** The words and variables that bash passes to each command of a block. */
function shellWords(text: string): string[] {
  const programs = ['codex', 'claude', 'gemini', 'opencode', 'qwen', 'cline', 'cn', 'docker'];
  const stubs = [...programs, 'n8n', 'npm', 'node', 'pip', 'python', 'curl']
    .map((name) => `${name}() { printf '%s\\0' "$@"; env -0; }`)
    .join('\n');
  const { stdout, stderr } = spawnSync('bash', ['--norc', '-euc', `${stubs}\n${text}`], {
    cwd: temporaryFolder(),
    env: { PATH: process.env['PATH'] },
    encoding: 'utf8',
  });
  expect(stderr).toBe('');
  return stdout.split('\0');
}
