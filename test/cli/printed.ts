import type { Running } from '../oriel.ts';

/** Waits until a run with `--jsonl` has printed so many lines; false where it ended before. */
export async function printed({ child, ended }: Running, lines: number): Promise<boolean> {
  const reached = new Promise<true>((resolve) => {
    let count = 0;
    child.stdout?.on('data', (chunk: Buffer) => {
      count += chunk.filter((byte) => byte === 0x0a).length;
      if (count >= lines) resolve(true);
    });
  });
  return Promise.race([reached, ended.then(() => false)]);
}
