import { open } from 'node:fs/promises';
import { figures, inFlight } from './work.ts';

// The least that a durable log can do: lines are appended, all that came meanwhile in one write, and
// acknowledged after fdatasync.

const WARM_UP = 3000;

const [width = '1', file = '', length = '1', count = '0'] = process.argv.slice(2);
const line = `${'x'.repeat(Math.max(1, Math.round(Number(length)) - 1))}\n`;
const handle = await open(file, 'w');

let gathered: { line: string; resolve: () => void }[] = [];
let isWriting = false;

function append(): Promise<void> {
  return new Promise((resolve) => {
    gathered.push({ line, resolve });
    if (!isWriting) void write();
  });
}

async function write(): Promise<void> {
  isWriting = true;
  // What is started in the same turn goes together.
  await new Promise<void>((resolve) => process.nextTick(resolve));
  while (gathered.length > 0) {
    const batch = gathered;
    gathered = [];
    await handle.write(batch.map((one) => one.line).join(''));
    await handle.datasync();
    for (const { resolve } of batch) resolve();
    await new Promise<void>((resolve) => process.nextTick(resolve));
  }
  isWriting = false;
}

/** One write and one fsync, nothing about it. */
async function appendAlone(): Promise<void> {
  await handle.write(line);
  await handle.sync();
}

const work = Number(width) > 1 ? append : appendAlone;
await inFlight(Number(width), WARM_UP, work);
const seconds = await inFlight(Number(width), Number(count), work);
figures({ seconds, bytes: line.length });
await handle.close();
