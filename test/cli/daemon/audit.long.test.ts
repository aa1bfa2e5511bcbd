import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { OWNER_KEY, startDaemon } from '../../daemon.ts';
import { temporaryFolder, words } from '../../oriel.ts';
import { residentCommand } from '../../resident.ts';
import { HAS_TERMINAL, startInTerminal } from '../in-terminal.ts';

const resident = residentCommand();

interface Act {
  readonly act: string;
  readonly object: string;
  readonly result: string;
  readonly code?: string;
  readonly who: { readonly user: string | null; readonly uid: number; readonly from: string };
  readonly details: Record<string, unknown>;
}

async function audit(data: string, ...args: string[]) {
  const run = await resident(words`audit --data ${data} --json ${args}`);
  const { acts, faults } = JSON.parse(run.out) as { acts: Act[]; faults: string[] };
  return { ...run, acts, faults };
}

const uid = process.getuid!();

describe('oriel audit', () => {
  it('shows acts without a daemon, and no secrets', async () => {
    const data = temporaryFolder();
    const at = ['--data', data];
    const sudo = { env: { SUDO_USER: 'alice' } };
    await resident(words`accounts create ci --credits 5 ${at}`, sudo);
    const { out } = await resident(words`keys create --account ci --name b ${at}`);
    const key = out.trim();
    await resident(['accounts', 'grant', 'ci', '2.5', '--note', 'invoice 7', ...at]);
    await resident(words`accounts set-plan ci paid ${at}`);
    const secret = (await resident(words`accounts callback-secret ci ${at}`)).out.trim();
    await resident(words`keys revoke sk-oriel-unknown-0123456789-0123456789 ${at}`);
    await resident(words`keys revoke ${key} ${at}`);
    await resident(words`accounts list ${at}`);
    const { status, acts, faults } = await audit(data);
    expect({ status, faults }).toEqual({ status: 0, faults: [] });
    expect(acts.map(({ act, object, result }) => [act, object, result])).toEqual([
      ['accounts.create', 'ci', 'done'],
      ['keys.create', expect.stringMatching(/^key_/), 'done'],
      ['accounts.grant', 'ci', 'done'],
      ['accounts.set-plan', 'ci', 'done'],
      ['accounts.callback-secret', 'ci', 'done'],
      ['keys.revoke', 'sk-o…6789', 'refused'],
      ['keys.revoke', acts[1]!.object, 'done'],
    ]);
    expect(acts[0]).toMatchObject({ who: { uid, from: 'local', sudoUser: 'alice' } });
    expect(acts[2]).toMatchObject({ details: { credits: 2.5, note: 'invoice 7' } });
    const whole = readFileSync(join(data, 'audit', 'audit-000000000001.jsonl'), 'utf8');
    for (const word of [key, secret, 'unknown-0123']) expect(whole).not.toContain(word);
    expect((await audit(data, '--act', 'keys', '--limit', '2')).acts).toHaveLength(2);
    expect((await audit(data, '--account', 'ci', '--since', '1d')).acts).toHaveLength(6);
    expect((await audit(data, '--since', '2999-01-01')).acts).toEqual([]);
  });

  it('shows acts of the daemon and their users while it runs and afterwards', async () => {
    const daemon = await startDaemon({ config: { limits: { syncWait: '60s' } } });
    const { data } = daemon;
    const sudo = { env: { SUDO_USER: 'alice' } };
    await resident(words`accounts create ci --data ${data}`, sudo);
    writeFileSync(
      join(data, 'oriel.yaml'),
      '{ "limits": { "syncWait": "5s" }, "log": {"level": "warn"} }',
    );
    daemon.child.kill('SIGHUP');
    await daemon.logged('the configuration was read again');
    writeFileSync(join(data, 'oriel.yaml'), '{ "limits": 1 }');
    daemon.child.kill('SIGHUP');
    await daemon.logged('the configuration is at fault; the one before stays in force');
    const refused = () => audit(data, '--act', 'config');
    await expect.poll(async () => (await refused()).acts.length).toBe(2);
    const running = await audit(data);
    expect(running.acts.map(({ act, object, result }) => [act, object, result])).toEqual([
      ['serve.start', expect.any(String), 'done'],
      ['accounts.create', 'owner', 'done'],
      ['keys.create', expect.stringMatching(/^key_/), 'done'],
      ['accounts.create', 'ci', 'done'],
      ['config.reload', 'configuration', 'done'],
      ['config.reload', 'configuration', 'refused'],
    ]);
    const [, , , created, reloaded] = running.acts;
    // The kernel has the user at the other end of a local connection.
    if (process.platform === 'linux')
      expect(created).toMatchObject({ who: { uid, sudoUser: 'alice' } });
    expect(reloaded!.details['changed']).toEqual(
      expect.arrayContaining(['limits.syncWait', 'overload.eventLoopDelay', 'log.level']),
    );
    expect(JSON.stringify(running.acts)).not.toContain(OWNER_KEY);
    await daemon.stop();
    const { acts, faults } = await audit(data);
    expect({ acts, faults }).toEqual({ acts: running.acts, faults: [] });
  });

  it('reports missing lines and exits with 1', async () => {
    const data = temporaryFolder();
    for (const name of ['a', 'b', 'c'])
      await resident(words`accounts create ${name} --data ${data}`);
    const file = join(data, 'audit', 'audit-000000000001.jsonl');
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
    for (const kept of [lines.slice(0, -2), lines.toSpliced(2, 2)]) {
      writeFileSync(file, `${kept.join('\n')}\n`);
      const { status, faults, stderr } = await audit(data);
      expect(status).toBe(1);
      expect(faults).not.toEqual([]);
      expect(stderr).toContain('audit log:');
    }
  });

  it.skipIf(!HAS_TERMINAL)(
    'fits a terminal of 80 columns, without control characters',
    async () => {
      const data = temporaryFolder();
      await resident(['accounts', 'create', 'a'.repeat(60), '--data', data]);
      await resident(['keys', 'revoke', 'key_\u009b31m\u202eabc', '--data', data]);
      const line = `stty cols 80; oriel audit --data '${data}'`;
      const { out, status } = await startInTerminal(line).ended;
      expect(status).toBe(0);
      const rows = out.trimEnd().split('\r\n');
      expect(rows).toHaveLength(3);
      for (const row of rows) expect(row.length).toBeLessThanOrEqual(80);
      expect(rows[0]).toMatch(/^TIME \(UTC\) +WHO +ACT +OBJECT +(FROM +)?RESULT$/);
      expect(out).not.toMatch(/[\u009b\u202e]/);
    },
  );

  it('exits with 1 without an audit log, and with 2 for an invalid --since', async () => {
    const data = temporaryFolder();
    const none = await resident(words`audit --data ${data}`);
    expect(none).toMatchObject({ status: 1 });
    expect(none.stderr).toContain('there is no audit log');
    expect(await resident(['audit', '--since', 'soon', '--data', data])).toMatchObject({
      status: 2,
    });
  });
});
