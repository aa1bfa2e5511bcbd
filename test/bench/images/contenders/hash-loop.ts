/** The limit for digests: whole files read two or more at a time, hashed on the main thread. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { inLanes, listedFiles } from './files.ts';

const [list] = process.argv.slice(2);
if (list === undefined) throw new Error('expected one argument: LIST of files');
const lines = await inLanes(listedFiles(list), availableParallelism(), async (file) => {
  const digest = createHash('sha256')
    .update(await readFile(file))
    .digest('hex');
  return `${digest}  ${file}\n`;
});
process.stdout.write(lines.join(''));
