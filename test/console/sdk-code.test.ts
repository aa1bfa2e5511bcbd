import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { EXAMPLE, readClients } from '../../src/clients/clients.ts';
import { SERVER } from '../../src/console/api/request.ts';
import { sdkCode } from '../../src/console/components/shown-request.ts';

const README = new URL('../../src/clients/README.md', import.meta.url);
const CLIENTS = readClients(readFileSync(README, 'utf8'));

it.each([
  ['OpenAI', 'openai'],
  ['Anthropic', 'anthropic'],
] as const)('snippets make the client of the %s SDK as the page Connect does', (sdk, id) => {
  const [label, snippet] = sdkCode(sdk, ['']);
  const { name, blocks } = CLIENTS.find((client) => client.id === id)!;
  expect(label).toBe(name);
  const server = SERVER.href.replace(/\/$/, '');
  expect(blocks[0]!.text).toContain(snippet.replace(server, EXAMPLE.url));
});
