import { execFileSync } from 'node:child_process';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { filled, readClients } from '../../../src/clients/clients.ts';
import { OWNER_KEY, sharedDaemon } from '../../daemon.ts';
import { ROOT, temporaryFolder } from '../../oriel.ts';
import { residentCommand } from '../../resident.ts';
import { json, mockDaemon } from './mock-daemon.ts';

const CLIENTS = readClients(readFileSync(join(ROOT, 'src/clients/README.md'), 'utf8'));

const resident = residentCommand();

describe('the configuration of a client', () => {
  const daemon = sharedDaemon();

  /** Writes the files of a client into a folder with the packages, and runs the commands that need no installation. */
  function run(id: string): string {
    const folder = temporaryFolder();
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    const connection = { url: daemon().url, key: OWNER_KEY, model: 'sandbox-chat' };
    const blocks = CLIENTS.find((client) => client.id === id)!.blocks.map((block) =>
      filled(block, connection),
    );
    for (const { path, text } of blocks) if (path !== null) writeFileSync(join(folder, path), text);
    const commands = blocks
      .at(-1)!
      .text.replace(/npm install .+ && /, '')
      .replace(/^pip .+$/m, '');
    return execFileSync('bash', ['--norc', '-euc', commands], { cwd: folder, encoding: 'utf8' });
  }

  it.each([
    ['curl', '"object":"chat.completion"'],
    ['openai', 'hello'],
    ['anthropic', "type: 'text'"],
  ])('%s gets an answer as it is shown', (id, expected) => {
    expect(run(id)).toContain(expected);
  });

  const connect = (args: string[], env = {}) =>
    resident(['connect', ...args], { env: { ORIEL_URL: daemon().url, ...env } });

  it.each([
    ['the first model of the key', ['codex', '--key', OWNER_KEY], 0, /^model = "sandbox-chat"$/m],
    ['a model that is named', ['codex', '--model', 'a"b'], 0, /^model = "a\\"b"$/m],
    ['the key that is given', ['curl', '--model', 'm', '--key', "it's"], 0, /KEY='it'\\''s'$/m],
    ['a stand-in for the key', ['curl', '--model', 'm'], 0, /ORIEL_API_KEY=YOUR_KEY$/m],
    ['a name in capitals', ['CODEX', '--model', 'm'], 0, /^~\/\.codex\/config\.toml:$/m],
    ['the list', [], 0, /^claude-code +Claude Code +agent +messages +[\d.]+$/m],
    ['the list as JSON', ['--json'], 0, /^\{"clients":\[\{"id":"codex","name":"Codex CLI"/],
    ['JSON', ['n8n', '--json', '--key', OWNER_KEY], 0, /"path":"oriel-credential\.json"/],
    ['a similar name', ['codx'], 2, /client "codx": unknown; did you mean codex\?/],
    ['all names', ['emacs'], 2, /client "emacs": unknown; expected one of codex, claude-code,/],
    ['a fault of the model', ['codex', '--model', 'a\nb'], 2, /--model: expected a name on one/],
    ['that the key is refused', ['codex', '--key', 'wrong'], 1, /the key is refused/],
    ['what to replace', ['codex', '--url', 'http://127.0.0.1:1'], 0, /replace YOUR_MODEL, or name/],
    ['what to replace without a key', ['codex'], 0, /model = "YOUR_MODEL"/],
  ])('oriel connect shows %s', async (_, args, code, expected) => {
    const run = await connect(args);
    expect(run).toMatchObject({ code });
    expect(run.out + run.stderr).toMatch(expected);
  });

  it('oriel connect takes no model whose name would reach the terminal as a command', async () => {
    const ids = ['x\u001b]0;t\u0007', 'a\nrm -rf b', 'x\u202ey', 'good'];
    const server = await mockDaemon((_, response) =>
      json(response, { object: 'list', data: ids.map((id) => ({ id, type: 'text' })) }),
    );
    const { out } = await connect(['codex', '--url', server.url]);
    expect(out).toMatch(/^model = "good"$/m);
  });

  it('oriel connect fills in the key of ORIEL_API_KEY', async () => {
    const { out } = await connect(['codex'], { ORIEL_API_KEY: OWNER_KEY });
    expect(out).toContain(`export ORIEL_API_KEY=${OWNER_KEY}\n`);
  });
});
