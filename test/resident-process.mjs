// Runs the built command repeatedly in one process, for resident.ts.
import { once } from 'node:events';
import { PassThrough, Writable } from 'node:stream';
import { main } from '../dist/src/cli/main.js';

// Each call adds an exit listener.
process.setMaxListeners(0);

function collector() {
  const chunks = [];
  const stream = new Writable({
    decodeStrings: true,
    write(chunk, _encoding, done) {
      chunks.push(chunk);
      done();
    },
  });
  return { stream, text: () => Buffer.concat(chunks) };
}

function replace(name, stream) {
  Object.defineProperty(process, name, { configurable: true, get: () => stream });
}

const workers = new Set();
process.on('worker', (worker) => {
  workers.add(worker);
  worker.once('exit', () => workers.delete(worker));
});

/** What would keep this process from ending if it had no parent. */
function active() {
  const threads = Array.from(workers, () => 'Worker');
  return [...threads, ...process.getActiveResourcesInfo()].filter(
    (name) => name !== 'PipeWrap' && name !== 'CloseReq',
  );
}

process.on('message', async (call) => {
  if (call === 'active') return process.send(active());
  const { args, cwd, env, input } = call;
  const out = collector();
  const err = collector();
  replace('stdin', new PassThrough().end(input));
  replace('stdout', out.stream);
  replace('stderr', err.stream);
  process.chdir(cwd);
  process.env = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined));
  process.exitCode = undefined;
  await main([process.execPath, 'oriel', ...args]);
  const code = process.exitCode ?? 0;
  process.exitCode = undefined;
  for (const { stream } of [out, err]) if (!stream.writableEnded) stream.end();
  await Promise.all([out, err].map(({ stream }) => stream.closed || once(stream, 'close')));
  process.send({ code, stdout: out.text(), stderr: err.text().toString() });
});
