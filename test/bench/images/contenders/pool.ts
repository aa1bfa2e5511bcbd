/** A tuned minimal Piscina pool: one thread a core, one task a thread, paths in and nothing copied. */
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import { listedFiles } from './files.ts';
import { print, scriptArguments } from './work.ts';

const { work, list, folder } = scriptArguments();
const threads = availableParallelism();
const pool = new Piscina({
  filename: fileURLToPath(new URL('./pool-worker.js', import.meta.url)),
  minThreads: threads,
  maxThreads: threads,
  concurrentTasksPerWorker: 1,
});
const results = await Promise.all(
  listedFiles(list).map((file) => pool.run({ work, file, folder })),
);
print(work, results);
await pool.close();
