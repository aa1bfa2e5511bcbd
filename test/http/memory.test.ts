import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { expect, it } from 'vitest';
import { startDaemon } from '../daemon.ts';
import { photo } from '../fixtures/images.ts';

/** Bytes that glibc reserves for a heap of a thread's arena, and to which it aligns it. */
const HEAP = 64 * 1024 * 1024;

/** Heaps of arenas other than the main one: each is a used part before one that is only reserved. */
function threadHeaps(pid: number): number {
  const maps = readFileSync(`/proc/${pid}/maps`, 'utf8').trim().split('\n');
  const regions = maps.map((line) => {
    const [, from, to, access] = /^(\w+)-(\w+) (\S+)/.exec(line)!;
    return { from: Number.parseInt(from!, 16), to: Number.parseInt(to!, 16), access };
  });
  return regions.filter(({ from, to, access }, index) => {
    const next = regions[index + 1];
    const isHeap = from % HEAP === 0 && next?.from === to && next.to === from + HEAP;
    return isHeap && access === 'rw-p' && next.access === '---p';
  }).length;
}

/** Heaps that Node's own threads have made before its first line runs: 1 on Node 20, 5 on Node 24. */
const HEAPS_OF_NODE = 5;

const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } };

it.runIf(header.glibcVersionRuntime)(
  'threads share as many arenas as there are cores, but for those of Node itself',
  async () => {
    const daemon = await startDaemon();
    const file = new Blob([
      new Uint8Array(await photo({ width: 64, height: 48 }).png().toBuffer()),
    ]);
    const convert = async () => {
      const form = new FormData();
      form.append('format', 'webp');
      for (const index of Array(20).keys()) form.append('files', file, `${index}.png`);
      const answer = await daemon.request('/api/free/batch-convert-images', {
        method: 'POST',
        body: form,
      });
      return answer.arrayBuffer();
    };
    await Promise.all([convert(), convert(), convert()]);
    const limit = Math.max(2, availableParallelism()) + HEAPS_OF_NODE;
    // Without a limit there are 10 to 17 on two cores.
    expect(threadHeaps(daemon.child.pid!)).toBeLessThanOrEqual(limit);
  },
);
