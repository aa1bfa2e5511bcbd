import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { configuration, UPSTREAM_KEYS } from './configuration.ts';
import { Daemon, OWNER_KEY } from './daemon.ts';
import { type FuzzOptions, fuzz } from './fuzz/fuzz.ts';
import { checkLog } from './log-check.ts';
import { Outages } from './outages.ts';
import { BOUNDS } from './torture.ts';
import { Upstream } from './upstream.ts';
import { Violations } from './violations.ts';

export interface FuzzSettings extends Pick<FuzzOptions, 'only' | 'seed'> {
  readonly seconds: number;
  readonly progress: (line: string) => void;
}

/** Fuzzes a daemon without other load. @returns a report, and the number of violated rules */
export async function fuzzAlone(settings: FuzzSettings): Promise<{ text: string; count: number }> {
  const { seed, seconds, progress, only } = settings;
  const folder = mkdtempSync(join(tmpdir(), 'oriel-fuzz-'));
  const upstream = new Upstream();
  await upstream.start();
  const daemon = await Daemon.prepare(folder, join(folder, 'data'), BOUNDS.heap);
  try {
    daemon.configure(configuration(upstream.url, daemon.port));
    await daemon.start();
    const { key } = await daemon.account('fuzz', { rpm: 1_000_000 });
    const violations = new Violations();
    const until = performance.now() + seconds * 1000;
    const requests = await fuzz({
      url: daemon.url,
      keys: [key],
      seed,
      outages: new Outages(),
      violations,
      hangTimeout: BOUNDS.hangTimeout,
      atOnce: 4,
      isRunning: () => performance.now() < until && daemon.alive,
      ...(only && { only }),
    });
    if (!daemon.alive) violations.add('the daemon stays alive', daemon.errors().slice(-2000));
    progress(`requests ${JSON.stringify(requests)}`);
    const code = await daemon.end('SIGTERM');
    if (code !== 0)
      violations.add('SIGTERM ends the daemon with exit code 0', `it ended with ${code}`);
    const secrets = [OWNER_KEY, key, ...UPSTREAM_KEYS];
    await checkLog(join(folder, 'log'), daemon.errors(), secrets, violations);
    const lines = violations.all.flatMap(({ rule, count, examples }) => [
      `- ${rule} (${count})`,
      ...examples.map((example) => `  - ${example}`),
    ]);
    const counts = Object.entries(requests).map(([kind, count]) => `${kind} ${count}`);
    const text = `Fuzzed with seed ${seed}: ${counts.join(', ')}\n${lines.join('\n') || 'Violations: none.'}\n`;
    return { text, count: violations.all.length };
  } finally {
    await daemon.end('SIGKILL');
    await upstream.kill();
    rmSync(folder, { recursive: true, force: true });
  }
}
