import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { readFixture } from './fixture.ts';
import { AGENTS } from './lab/agents.ts';
import { blocksOf, commandsOf, versionOf } from './readme-section.ts';

const PATHS = {
  chat: '/v1/chat/completions',
  responses: '/v1/responses',
  messages: '/v1/messages',
  gemini: '/v1beta/models/to-gemini:streamGenerateContent',
} as const;

it.each(AGENTS)(
  'the configuration of $name in the README is that of its recorded requests',
  (agent) => {
    const { section, name, replace } = agent;
    const fixture = readFixture(name);
    const blocks = blocksOf(section);
    expect([versionOf(section), agent.version]).toEqual([fixture.version, fixture.version]);
    expect(fixture.path.split('?', 1)[0]).toBe(PATHS[fixture.dialect]);
    const text = [...blocks.map(({ code }) => code), ...commandsOf(blocks)].join('\n');
    expect(text).toContain('http://127.0.0.1:8787');
    expect(text).toContain('sandbox-chat');
    if (replace) expect(text).toContain(replace[0]);
    const wire = /wire_api = "(\w+)"/.exec(text)?.[1];
    if (wire !== undefined) expect(wire).toBe(fixture.dialect);
    expect(commandsOf(blocks).at(-1)).toContain(agent.bin);
    // Every JSON document is a YAML document.
    for (const { language, code } of blocks) {
      if (language === 'json' || language === 'yaml') expect(parse(code)).toBeTypeOf('object');
    }
  },
);
