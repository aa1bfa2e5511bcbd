import { readFileSync } from 'node:fs';

/** The paths of a NUL-separated list, as `xargs -0` reads it. */
export function listedFiles(list: string): string[] {
  return readFileSync(list, 'utf8').split('\0').filter(Boolean);
}

/** Runs `perform` over all files, `concurrency` at a time, and keeps the results in the order of the files. */
export async function inLanes<Result>(
  files: readonly string[],
  concurrency: number,
  perform: (file: string) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < files.length; index = next++) {
      results[index] = await perform(files[index]!);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  return results;
}
