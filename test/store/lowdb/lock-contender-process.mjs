// Opens a store after a line on standard input, and prints the outcome.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { openLowdbStore } from '../../.modules/src/store/drivers/lowdb/open.js';
import { diskFiles } from '../../.modules/src/store/files.js';
import { lockByPid } from '../../.modules/src/store/lock.js';

const [directory, mode] = process.argv.slice(2);

async function open() {
  if (mode !== 'pid') return openLowdbStore({ directory });
  const lock = await lockByPid(diskFiles, join(directory, 'lock'));
  return { close: () => lock.release() };
}

process.stdout.write('ready\n');
process.stdin.once('data', async () => {
  try {
    const store = await open();
    const child =
      mode === 'child' && spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60_000)']);
    process.stdout.write(child ? `open ${child.pid}\n` : 'open\n');
    process.stdin.once('data', async () => {
      await store.close();
      process.stdout.write('closed\n');
      process.stdin.destroy();
    });
  } catch (error) {
    process.stdout.write(`${error.code} ${error.message}\n`);
    process.stdin.destroy();
  }
});
