import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder, words } from '../../oriel.ts';
import { residentCommand } from '../../resident.ts';
import { json, mockDaemon } from './mock-daemon.ts';

const resident = residentCommand();

/** C0, C1, a change of direction, a line separator, and an isolate. */
const EVIL = 'x\u001b]0;t\u0007\u009b31m\u202e\u2028\u2066y';
const COMMANDS =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f]/;

const ANSWERS: Readonly<Record<string, object>> = {
  '/v1/tasks': { object: 'list', data: [{ task_id: EVIL, status: EVIL, type: EVIL, model: EVIL }] },
  '/v1/tasks/a': {
    task_id: EVIL,
    status: 'failed',
    type: EVIL,
    model: EVIL,
    error: { type: 'service_error', message: EVIL, code: EVIL },
  },
  '/v1/models': {
    object: 'list',
    data: [{ id: EVIL, type: 'image', pricing: { [EVIL]: 1 }, capability_metadata: {} }],
  },
  '/v1/images/upload': { url: `http://127.0.0.1/${EVIL}`, id: EVIL },
  '/v1/images/generations': { task_id: EVIL, poll_url: `/v1/tasks/a`, status: EVIL },
};

it.each([
  ['tasks'],
  ['tasks', '--json'],
  ['task', 'a'],
  ['task', 'missing'],
  ['models'],
  ['models', '--json'],
  ['upload', 'FILE'],
  words`upload FILE --json`,
  ['generate', 'a boat', '--model', 'm', '--no-wait'],
  words`chat hello --model m`,
])('control characters of a server are escaped on a terminal: %s %s', async (...args) => {
  const { url } = await mockDaemon(({ path }, response) => {
    const answer = ANSWERS[path.split('?', 1)[0]!];
    const error = { type: 'service_error', message: EVIL, code: EVIL };
    json(response, answer ?? { error }, answer ? 200 : 502);
  });
  const folder = temporaryFolder();
  const file = join(folder, `${EVIL}.png`);
  writeFileSync(file, 'no image');
  const given = args.map((arg) => (arg === 'FILE' ? file : arg));
  const { out, stderr } = await resident([...given, '--url', url, '--key', 'k'], { cwd: folder });
  expect(out + stderr).not.toBe('');
  expect(out).not.toMatch(COMMANDS);
  expect(stderr).not.toMatch(COMMANDS);
});
