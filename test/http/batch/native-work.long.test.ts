/** Image work that takes far longer than it may, at the built daemon. */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import sharp from 'sharp';
import { expect, onTestFinished, test } from 'vitest';
import { readArchive } from '../../cli/archive.ts';
import { startDaemon, type TestDaemon } from '../../daemon.ts';
import { quadrants, slowerThanEstimated, UNDERESTIMATED } from '../../fixtures/images.ts';
import { until } from '../../fixtures/until.ts';
import { newKey } from '../../text/gateway-daemon.ts';

const CONVERT = '/api/free/batch-convert-images';

function formOf(files: readonly Buffer[], fields: Readonly<Record<string, string>>): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  for (const [index, file] of files.entries()) {
    form.append('files', new Blob([new Uint8Array(file)]), `${index}.png`);
  }
  return form;
}

interface Manifest {
  readonly results: readonly {
    readonly status: string;
    readonly error?: { readonly code: string; readonly message: string };
  }[];
}

async function manifestOf(response: Response): Promise<Manifest['results']> {
  expect(response.status).toBe(200);
  const entries = readArchive(Buffer.from(await response.arrayBuffer()));
  return (JSON.parse(entries.at(-1)!.bytes.toString()) as Manifest).results;
}

const as = (key: string, body: FormData) => ({
  method: 'POST',
  headers: { authorization: `Bearer ${key}` },
  body,
});

async function running(daemon: TestDaemon): Promise<number> {
  const text = await daemon.metrics();
  return Number(/^oriel_pool_jobs_running (\d+)$/m.exec(text)![1]);
}

/** Resident bytes of each process that the daemon has started. */
function processesOf({ child }: TestDaemon): number[] {
  const children = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8');
  return children
    .trim()
    .split(' ')
    .filter((pid) => pid !== '')
    .map((pid) => {
      const status = readFileSync(`/proc/${pid}/status`, 'utf8');
      return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
    });
}

test.runIf(process.platform === 'linux')(
  'of one account ends at its deadline, and others are served meanwhile',
  async () => {
    const daemon = await startDaemon({
      config: { pool: { threads: 2 }, batch: { deadline: '4s' } },
    });
    onTestFinished(() => void daemon.child.kill('SIGKILL'));
    const attacker = await newKey(daemon, 'attacker');
    const victim = await newKey(daemon, 'victim');
    const slow = await slowerThanEstimated();
    const small = await quadrants({ width: 64, height: 64 }).png().toBuffer();
    let isAttackOver = false;
    const body = formOf([slow, slow, slow], UNDERESTIMATED);
    const attack = daemon.request(CONVERT, as(attacker, body)).then(async (response) => {
      const results = await manifestOf(response);
      isAttackOver = true;
      return results;
    });
    await until(async () => (await running(daemon)) >= 2);

    const [done, upload, ready] = await Promise.all([
      daemon
        .request(CONVERT, as(victim, formOf([small], { format: 'webp' })))
        .then((response) => manifestOf(response)),
      daemon.request('/v1/images/upload', as(victim, fileForm(small))),
      daemon.request('/readyz'),
    ]);
    expect(isAttackOver).toBe(false);
    expect(done).toMatchObject([{ status: 'succeeded' }]);
    expect([upload.status, ready.status]).toEqual([200, 200]);

    const codes = (await attack).map(({ error }) => error?.code);
    expect(codes).toEqual(['timeout', 'timeout', 'timeout']);
    expect(await running(daemon)).toBe(0);
    // Those that were killed are gone with their memory; the rest wait for work.
    for (const bytes of processesOf(daemon)) expect(bytes).toBeLessThan(300 * 2 ** 20);
  },
);

function fileForm(file: Buffer): FormData {
  const form = new FormData();
  form.append('file', new Blob([new Uint8Array(file)]), 'a.png');
  return form;
}

test('that cannot be done within its deadline or memory is refused at once', async () => {
  const daemon = await startDaemon({ config: { pool: { memory: '64MB' } } });
  // Few bytes, 49 megapixels, and the slowest encoder.
  const plain = await sharp({
    create: { width: 7000, height: 7000, channels: 3, background: 'grey' },
  })
    .png()
    .toBuffer();
  const noise = { type: 'gaussian', mean: 128, sigma: 40 } as const;
  const detailed = await sharp({
    create: { width: 875, height: 875, channels: 3, background: 'grey', noise },
  })
    .resize(3500, 3500, { kernel: 'nearest' })
    .jpeg({ quality: 50 })
    .toBuffer();
  const key = await newKey(daemon, 'paying');
  const form = formOf([plain, detailed], { format: 'avif', effort: '9' });
  const [memory, time] = await manifestOf(await daemon.request(CONVERT, as(key, form)));
  expect(memory!.error).toMatchObject({ code: 'work_exceeds_memory' });
  expect(memory!.error!.message).toContain('pool.memory');
  expect(time!.error).toMatchObject({ code: 'work_exceeds_deadline' });
  expect(time!.error!.message).toContain('batch.deadline');
});

test('on a large picture with detailed transparency has the memory that it needs', async () => {
  const daemon = await startDaemon();
  const size = { width: 4000, height: 4000 };
  // Four bits of noise: with eight, the file would be larger than a file may be.
  const alpha = Buffer.from(randomBytes(size.width * size.height).map((byte) => byte & 0xf0));
  const image = await sharp({ create: { ...size, channels: 3, background: 'grey' } })
    .joinChannel(alpha, { raw: { ...size, channels: 1 } })
    .png({ compressionLevel: 2 })
    .toBuffer();
  const key = await newKey(daemon, 'paying');
  const response = await daemon.request(CONVERT, as(key, formOf([image], { format: 'webp' })));
  expect(await manifestOf(response)).toMatchObject([{ status: 'succeeded' }]);
});

// An account's own jobs wait for each other; another's waits for one of them at most.
test('of one account lets the upload of another take its turn', async () => {
  const daemon = await startDaemon({ config: { pool: { threads: 1 } } });
  const [attacker, victim] = [await newKey(daemon, 'attacker'), await newKey(daemon, 'victim')];
  const large = await sharp({
    create: { width: 4000, height: 3000, channels: 3, background: 'grey' },
  })
    .webp({ effort: 0 })
    .toBuffer();
  const small = await quadrants({ width: 64, height: 64 }).png().toBuffer();
  const upload = (key: string) => daemon.request('/v1/images/upload', as(key, fileForm(small)));
  // Processes are up before anything is counted.
  await Promise.all([upload(attacker), upload(victim)]);
  const leave = new AbortController();
  const edits = Array.from({ length: 8 }, async () => {
    const form = new FormData();
    form.append('model', 'sandbox-image-any');
    form.append('prompt', 'warmer');
    for (let number = 1; number <= 4; number += 1) {
      form.append('image[]', new Blob([new Uint8Array(large)]), `${number}.png`);
    }
    const request = { ...as(attacker, form), signal: leave.signal };
    await daemon.request('/v1/images/edits', request).catch(() => {});
  });
  const figures = async () => {
    const text = await daemon.metrics();
    const value = (name: string) => Number(text.split(`\n${name} `)[1]?.split('\n')[0] ?? 0);
    return {
      waiting: value('oriel_pool_jobs_waiting'),
      proven: value('oriel_pool_jobs_total{operation="verify"}'),
    };
  };
  await until(async () => (await figures()).waiting >= 5);

  const before = await figures();
  const { status } = await upload(victim);
  const after = await figures();
  expect(status).toBe(200);
  // The upload itself, and what ended while it was on its way.
  expect(after.proven - before.proven).toBeLessThan(before.waiting);
  expect(after.waiting).toBeGreaterThan(0);
  leave.abort();
  await Promise.all(edits);
});
