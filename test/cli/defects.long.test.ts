import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startDaemon } from '../daemon.ts';
import { temporaryFolder } from '../oriel.ts';

/** Starts a daemon in which a signal runs a piece of code outside of any request. */
async function daemonWith(code: string) {
  const file = join(temporaryFolder(), 'defect.cjs');
  writeFileSync(file, `process.on('SIGUSR2', () => { ${code} });`);
  const daemon = await startDaemon({ env: { NODE_OPTIONS: `--require ${file}` } });
  return { daemon, provoke: () => daemon.child.kill('SIGUSR2') };
}

it.each([
  [
    'a promise was rejected',
    "Promise.reject(new Error('broken'))",
    'a defect, please report it: a promise was rejected that nothing waits for',
  ],
  [
    'no descriptor is left',
    "throw Object.assign(new Error('too many open files'), { code: 'EMFILE' })",
    'the system is short of descriptors or memory',
  ],
])('the daemon continues after an uncaught error: %s', async (_, code, message) => {
  const { daemon, provoke } = await daemonWith(code);
  provoke();
  const { level } = await daemon.logged(message);
  expect(level).toBe('error');
  expect((await daemon.request('/v1/account')).status).toBe(200);
});

it('the daemon finishes requests in progress after an uncaught exception and exits with 1', async () => {
  const { daemon, provoke } = await daemonWith("throw new Error('broken')");
  const answer = daemon.send('/v1/chat/completions', {
    model: 'sandbox-chat',
    stream: true,
    messages: [{ role: 'user', content: 'Hello' }],
  });
  const response = await answer;
  provoke();
  const { level } = await daemon.logged('a defect, please report it: the daemon ends');
  expect(level).toBe('fatal');
  expect(await response.text()).toContain('[DONE]');
  expect((await daemon.ended).code).toBe(1);
});
