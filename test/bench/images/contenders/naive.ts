/** A first script: every file at once, sharp with its defaults. */
import { listedFiles } from './files.ts';
import { perform, print, scriptArguments } from './work.ts';

const { work, list, folder } = scriptArguments();
const results = await Promise.all(listedFiles(list).map((file) => perform(work, file, folder)));
print(work, results);
