// Writes files until the process is killed, and prints each identifier once the write is acknowledged.
import { writeSync } from 'node:fs';
import { DiskStorage } from '../.modules/src/assets/disk/disk-storage.js';
import { newAssetId } from '../.modules/src/assets/storage/identifier.js';

const [folder] = process.argv.slice(2);
const files = await DiskStorage.open(folder);

/** Content that shows whether it is complete: equal bytes, which depend on the size. */
async function* content(size) {
  const chunk = Buffer.alloc(size, size % 251);
  for (let at = 0; at < 8; at += 1) yield chunk;
}

async function work(worker) {
  for (let turn = worker; ; turn += 1) {
    const id = newAssetId('bin');
    const size = 1 + ((turn * 7919) % 20_000);
    await files.write(id, content(size), Infinity);
    writeSync(1, `${id} ${8 * size}\n`);
  }
}

await Promise.all(Array.from({ length: 8 }, (_, worker) => work(worker * 100)));
