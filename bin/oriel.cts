#!/usr/bin/env node
// CommonJS on purpose: libuv reads UV_THREADPOOL_SIZE once, when its pool is first used, and loading
// an ES module uses it. All image threads share that pool, four threads by default, so that on a
// machine of more cores the fifth image would wait for the first. This is the last moment to say so.
if (process.env['UV_THREADPOOL_SIZE'] === undefined) {
  const { availableParallelism } = require('node:os') as typeof import('node:os');
  // Four to spare for files: the daemon itself runs no decoder, but other work comes in floods, too.
  process.env['UV_THREADPOOL_SIZE'] = String(Math.max(8, availableParallelism() + 4));
}

const [, , first, ...rest] = process.argv;
// glibc makes up to eight arenas a core for threads, and none gives memory to another: the daemon grew
// to twice the memory. Its limit counts only before the threads that load ES modules have made theirs.
const { MALLOC_ARENA_MAX } = process.env;
if (first === 'serve' && MALLOC_ARENA_MAX === undefined && process.features.require_module) {
  const { availableParallelism } = require('node:os') as typeof import('node:os');
  const { limitArenas }: typeof import('../src/libc.js') = require('../src/libc.js');
  limitArenas(Math.max(2, availableParallelism()));
}
if ((first === '--version' || first === '-V') && rest.length === 0) {
  const { version } = require('../../package.json') as { version: string };
  process.stdout.write(`${version}\n`);
} else {
  void import('../src/cli/main.js').then(({ main }) => main(process.argv));
}
