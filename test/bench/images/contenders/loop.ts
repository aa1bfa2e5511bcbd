/** The limit: sharp in one process with as many files in flight as there are cores, and nothing else. */
import { availableParallelism } from 'node:os';
import sharp from 'sharp';
import { inLanes, listedFiles } from './files.ts';
import { perform, print, scriptArguments } from './work.ts';

sharp.concurrency(1);
sharp.cache(false);
const { work, list, folder } = scriptArguments();
const results = await inLanes(listedFiles(list), availableParallelism(), (file) =>
  perform(work, file, folder),
);
print(work, results);
