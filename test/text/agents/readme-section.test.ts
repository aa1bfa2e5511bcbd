import { expect, it } from 'vitest';
import { EXAMPLE } from '../../../src/clients/clients.ts';
import { readFixture } from './fixture.ts';
import { AGENTS } from './lab/agents.ts';
import { blocksOf, versionOf } from './readme-section.ts';

const PATHS = {
  chat: '/v1/chat/completions',
  responses: '/v1/responses',
  messages: '/v1/messages',
  gemini: '/v1beta/models/to-gemini:streamGenerateContent',
} as const;

it.each(AGENTS)('the configuration of $name is that of its recorded requests', (agent) => {
  const { section, name, replace, task } = agent;
  const fixture = readFixture(name);
  const blocks = blocksOf(section);
  // Codex spoke chat completions in an older version.
  const version = name === 'codex-chat' ? agent.version : versionOf(section);
  expect([version, agent.version]).toEqual([fixture.version, fixture.version]);
  expect(fixture.path.split('?', 1)[0]).toBe(PATHS[fixture.dialect]);
  const text = blocks.map((block) => block.text).join('\n');
  for (const value of Object.values(EXAMPLE)) expect(text).toContain(value);
  if (replace) expect(text).toContain(replace[0]);
  const wire = /wire_api = "(\w+)"/.exec(replace ? text.replaceAll(...replace) : text)?.[1];
  if (wire !== undefined) expect(wire).toBe(fixture.dialect);
  expect(blocks.at(-1)!.text.trim().split('\n').at(-1)).toContain(task[0]);
  expect(text.replace(...task)).toMatch(new RegExp(`\\b${agent.bin} .*|\\| ${agent.bin} `));
});
